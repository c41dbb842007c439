// What is shown of time: nodes and kinds of messages that are left out; and the diagram in numbers.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { dialog } from "../frame.js";
import { count } from "../words.js";
import { lines } from "./time-marks.js";

const MOST_LINES = 500;

/** A menu of boxes: one for each node and each kind of message. */
export function filterMenu(time) {
  const summary = h("span", {});
  const box = h("div", { class: "menu-box" });
  const element = h("details", { class: "menu" }, h("summary", { class: "pair" }, h("span", { class: "quiet" }, "show"), summary), box);
  let drawn = "";
  const toggle = (hidden, value) => (event) => {
    hidden[event.target.checked ? "delete" : "add"](value);
    time.draw();
  };
  const check = (hidden, value, text) => {
    const input = h("input", { type: "checkbox", onchange: toggle(hidden, value) });
    input.checked = !hidden.has(value);
    return h("label", { class: "check" }, input, text);
  };
  const outside = (event) => {
    if (element.open && !element.contains(event.target)) element.open = false;
  };
  document.addEventListener("pointerdown", outside);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.stopPropagation();
    element.open = false;
    element.firstChild.focus();
  });
  return {
    element,
    leave: () => document.removeEventListener("pointerdown", outside),
    update(kinds) {
      const nodes = time.run.setting.nodes;
      const rest = (hidden, all, words) => (hidden ? `${all - hidden} of ${all} ${words}` : `all ${words}`);
      const away = kinds.filter((kind) => time.hiddenKinds.has(kind)).length;
      say(summary, `${rest([...time.hiddenNodes].filter((node) => node < nodes).length, nodes, "nodes")}, ${rest(away, kinds.length, "kinds")}`);
      const key = `${nodes} ${kinds}`;
      if (drawn === key) return;
      drawn = key;
      fill(box, h("fieldset", {}, h("legend", {}, "Nodes"), h("div", { class: "boxes" }, Array.from({ length: nodes }, (_, node) => check(time.hiddenNodes, node, String(node))))), kinds.length > 0 && h("fieldset", {}, h("legend", {}, "Messages"), kinds.map((kind) => check(time.hiddenKinds, kind, kind))), h("button", { class: "button", onclick: () => time.table() }, icon("events"), " As a table"));
    },
  };
}

/** The numbers of the diagram. */
export function timeTable(run, hiddenNodes, hiddenKinds) {
  const data = lines(run);
  const part = (title, heads, all, row) => {
    const shown = all.slice(0, MOST_LINES);
    return h("section", {}, h("h3", {}, `${title} ${count(all.length)}`), all.length > 0 && h("table", {}, h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, shown.map((it) => h("tr", {}, row(it).map((text) => h("td", {}, text === null ? "–" : String(text))))))), shown.length < all.length && h("p", { class: "quiet" }, `The first ${count(MOST_LINES)} are listed. The trace file has all of them.`));
  };
  const near = (it) => !hiddenNodes.has(it.node);
  const bar = (it) => [it.node, it.client, it.tone, it.from, it.to ?? "not yet"];
  const flies = (it) => !hiddenKinds.has(it.kind) && !hiddenNodes.has(it.from) && !hiddenNodes.has(it.to);
  const { box } = dialog(
    "Time in numbers",
    part("Inside", ["node", "client", "by", "from step", "to step"], data.bars.filter(near), bar),
    part("Waits", ["node", "client", "for", "from step", "to step"], data.waits.filter(near), bar),
    part("Messages", ["number", "kind", "from", "to", "token", "sent at", "received at"], data.messages.filter(flies), (it) => [it.id, it.kind, it.from, it.to, it.token ?? it.asks, it.sent, it.received ?? (it.lost === null ? "in flight" : `lost at ${it.lost}`)]),
    data.crashes.length > 0 && part("Down", ["node", "from step", "to step"], data.crashes.filter(near), (it) => [it.node, it.from, it.to ?? "not yet"]),
  );
  box.classList.add("numbers");
}
