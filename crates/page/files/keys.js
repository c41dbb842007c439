// Single keys. They do nothing in fields, and can be switched off.

import { h } from "./dom.js";
import { dialog } from "./frame.js";
import { current } from "./router.js";

const OFF = "tokenwood.keys";
const bound = [];

let off = false;
try {
  off = localStorage.getItem(OFF) === "off";
} catch {
  // A browser may forbid storage: then keys are on.
}

/** A key, what it does in words, and what it calls. */
export function key(name, words, call) {
  bound.push({ name, words, call });
}

/** The keys of the view that is shown come first; a view with keys of its own shares few with the others. */
const EVERYWHERE = ["?", "/"];
function active() {
  const view = current();
  const mine = view?.keys ?? [];
  return [...mine, ...bound.filter((it) => !mine.some((other) => other.name === it.name) && (!view?.ownKeys || EVERYWHERE.includes(it.name)))];
}

const inField = (element) => element?.closest?.("input, textarea, select, [contenteditable]");

/** Whether keys brought the focus where it is. A click leaves it on what was clicked, which the reader did not choose for keys. */
let byKey = true;

export function start() {
  document.addEventListener("pointerdown", () => (byKey = false), true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Tab") byKey = true;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (inField(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const pressed = event.target.closest?.("button, a, summary, [role=button]");
    // Space presses the button that has the focus, unless the pointer left it there; Enter does in any case.
    if (pressed && (event.key === "Enter" || (event.key === " " && (byKey || pressed.closest("[popover]"))))) {
      // A browser presses what is a button to it: a part of a picture is not.
      if (pressed.ownerSVGElement && pressed.localName !== "a") {
        event.preventDefault();
        pressed.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      }
      return;
    }
    if (off && event.key !== "?") return;
    const plain = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toUpperCase() : event.key;
    const name = event.shiftKey && plain.startsWith("Arrow") ? `Shift ${plain}` : plain;
    const found = active().find((it) => it.name === name);
    if (!found || found.call() === false) return;
    event.preventDefault();
  });
}

const LABELS = { Escape: "Esc", ArrowRight: "→", ArrowLeft: "←", "Shift ArrowRight": "Shift →", "Shift ArrowLeft": "Shift ←" };

export function help() {
  const check = h("input", { type: "checkbox", id: "keys-on", onchange: () => {
    off = !check.checked;
    try {
      localStorage.setItem(OFF, off ? "off" : "on");
    } catch {
      // As above.
    }
  } });
  check.checked = !off;
  dialog("Keys", h("table", { class: "keys" }, h("thead", { class: "hidden-text" }, h("tr", {}, h("th", {}, "key"), h("th", {}, "does"))), h("tbody", {}, active().filter(({ words }) => words).map(({ name, words }) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, LABELS[name] ?? name)), h("td", {}, words))))), h("p", {}, h("label", { class: "check" }, check, "single keys are on")));
}
