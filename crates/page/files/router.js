// Addresses and views: every view has an address, and going back never undoes an act.

const views = [];
let shown = null;
let root = null;

/** A view: its address below /ui as a pattern, and what shows it. `show(place, parameters)` returns {title, update, leave}. */
export function route(pattern, show) {
  views.push({ pattern, show });
}

/** The address of a view. */
export function address(path, query = {}) {
  const kept = new URLSearchParams(location.search);
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "" && value !== null && value !== undefined && value !== false) parts.set(name, value === true ? "1" : value);
  for (const name of ["theme", "embed", "stage"]) if (kept.has(name)) parts.set(name, kept.get(name));
  const text = parts.toString();
  return `/ui/${path}${text && `?${text}`}`;
}

/** Goes to another view. */
export function go(to) {
  history.pushState(null, "", to);
  open();
  document.getElementById("main").focus({ preventScroll: true });
}

/** Choosing and filtering replace the address: they are no step back. */
export function replace(to) {
  history.replaceState(history.state, "", to);
}

/** Keeps one choice in the address; without a value, the address says nothing of it. */
export function mark(name, value) {
  const here = new URL(location.href);
  if (value) here.searchParams.set(name, value);
  else here.searchParams.delete(name);
  replace(here);
}

export const current = () => shown;

/** Shows the view of the address. */
export function open() {
  const path = decodePath(location.pathname);
  const query = new URLSearchParams(location.search);
  for (const { pattern, show } of views) {
    const match = pattern.exec(path);
    if (!match) continue;
    shown?.leave?.();
    root.replaceChildren();
    root.scrollTop = 0;
    shown = show(root, { match, query, path });
    document.title = shown.title ? `${shown.title} · Tokenwood` : "Tokenwood";
    dispatchEvent(new CustomEvent("shown", { detail: path }));
    return;
  }
}

// Names may have slashes and percent signs: only the path below /ui is taken apart, and parts are decoded by the views.
const decodePath = (path) => path.replace(/^\/ui\/?/, "");

export function start(place) {
  root = place;
  addEventListener("popstate", open);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const to = link.getAttribute("href") ?? "";
    // A fragment may hold a run: skipping to the content must not replace it.
    if (to === "#main") {
      event.preventDefault();
      root.focus();
    }
    if (!to.startsWith("/ui")) return;
    event.preventDefault();
    if (to !== location.pathname + location.search) go(to);
  });
  open();
}
