// Keys of one view, before those of the page: a view that is left takes its keys with it.

const isOff = () => {
  try {
    return localStorage.getItem("tokenwood.keys") === "off";
  } catch {
    return false;
  }
};

/** Listens for keys by name; returns what ends that. They do nothing in fields, in dialogs, and if single keys are off. */
export function onKeys(acts) {
  const listen = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isOff() || document.querySelector("dialog[open]") || event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const name = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toUpperCase() : event.key;
    if (!(name in acts) || (name === "Space" && event.target.closest?.("button, a, summary"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    acts[name]();
  };
  addEventListener("keydown", listen, true);
  return () => removeEventListener("keydown", listen, true);
}
