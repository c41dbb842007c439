// What all views share: the top bar, the tabs of small screens, search, theme, dialogs.

import { hasToken, useToken } from "./ask.js";
import { fill, h, say } from "./dom.js";
import { icon, sign } from "./draw/icons.js";
import { help } from "./keys.js";
import { live } from "./live/model.js";
import { address, current, go } from "./router.js";

/** The views that have a place in the bar. */
const VIEWS = [
  { name: "Live", icon: "live", path: "live", needs: "cluster", of: /^$|^live|^name\/|^node\// },
  { name: "Events", icon: "events", path: "events", needs: "cluster", of: /^events/ },
  { name: "Play", icon: "play", path: "play", needs: "player", of: /^play|^story|^open|^recording/ },
  { name: "Gallery", icon: "gallery", path: "gallery", needs: "player", of: /^gallery/ },
  { name: "Compare", icon: "compare", path: "compare", needs: "player", of: /^compare/ },
];

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

const themeButton = h("button", { class: "round", onclick: toggleTheme });
const talks = h("span", { class: "talks" }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", {}));
const field = h("input", { id: "search", type: "search", placeholder: "Find a name", autocomplete: "off", spellcheck: "false", "aria-label": "Find a name", oninput: () => current()?.search?.(field.value), onkeydown: (event) => event.key === "Enter" && find() });

function toggleTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("tokenwood.theme", root.dataset.theme);
  } catch {
    // A browser may forbid storage: then the choice lasts as long as the page.
  }
  drawTheme();
}

function drawTheme() {
  const to = isDark() ? "light" : "dark";
  fill(themeButton, icon(to === "light" ? "sun" : "moon", 18));
  themeButton.setAttribute("aria-label", `Use ${to} colours`);
  themeButton.title = `Use ${to} colours`;
}

/** Enter: to the names that match, or to the first of them. */
function find() {
  if (current()?.search) current().step(0);
  else go(address("live", { q: field.value }));
}

export function focusSearch() {
  root.dataset.searching = "";
  field.focus();
  field.select();
}

/** `can` says what the server has: a cluster, a player. */
export function start(top, tabs, can) {
  const views = VIEWS.filter((view) => can[view.needs]);
  const decided = h("span", { class: "decided quiet" }, "decided by the same code as ", h("code", {}, "tokenwood check"));
  drawTheme();
  dark.addEventListener("change", drawTheme);
  const link = (view) => h("a", { href: address(view.path), "data-view": view.path }, view.name);
  const search = h("div", { class: "search", role: "search" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/"));
  field.addEventListener("blur", () => !field.value && delete root.dataset.searching);
  const forget = h("button", { class: "round forget", title: "Forget the token", "aria-label": "Forget the token", onclick: () => (useToken(null), location.reload()) }, icon("key", 18));
  fill(top, h("a", { class: "brand", href: address(can.cluster ? "live" : "play") }, sign(), h("span", {}, "tokenwood")), h("nav", { class: "views", "aria-label": "Views" }, views.map(link)), search, talks, decided, h("button", { class: "round find", "aria-label": "Find a name", onclick: focusSearch }, icon("search", 18)), forget, themeButton, h("button", { class: "round", "aria-label": "Keys and help", title: "Keys and help", onclick: help }, icon("help", 18)));
  fill(tabs, views.map((view) => h("a", { href: address(view.path), "data-view": view.path }, icon(view.icon, 20), h("span", {}, view.name))));
  addEventListener("shown", ({ detail }) => {
    // Views of runs need no search for names, and talk to no cluster.
    const at = !can.cluster && /^(live)?\/?$/.test(detail) ? "play" : detail;
    root.dataset.place = /^(play|story|gallery|compare|open|recording)/.test(at) ? "runs" : "live";
    root.toggleAttribute("data-player", /^(play|story)/.test(at));
    for (const anchor of document.querySelectorAll("[data-view]")) {
      const view = VIEWS.find((it) => it.path === anchor.dataset.view);
      if (view.of.test(at)) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
    }
    field.value = current()?.query?.() ?? new URLSearchParams(location.search).get("q") ?? "";
  });
  return () => {
    forget.hidden = !hasToken();
    const held = live.heldAt !== null;
    const state = held ? "held still" : live.old || live.problem?.silent ? "silent" : live.heard ? "live" : "asking";
    say(talks.lastChild, live.cluster ? `node ${live.cluster.asked}, ${state}` : state);
    talks.className = `talks ${state.replace(" ", "-")}`;
  };
}

/** A dialog: closed by Escape, by its cross, and by going to another view. Returns what closes it. */
export function dialog(title, ...children) {
  const box = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => box.remove() }, h("div", { class: "bar" }, h("h2", { id: "dialog-title" }, title), h("button", { class: "round", "aria-label": "Close", onclick: () => box.close() }, icon("close"))), children);
  document.querySelector("dialog")?.close();
  document.body.append(box);
  box.showModal();
  const away = () => box.close();
  addEventListener("shown", away, { once: true });
  return { box, close: away };
}
