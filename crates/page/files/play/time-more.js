// What is shown of time: nodes and kinds of messages that are left out; and the diagram in numbers.

import { fill, h, say } from "../dom.js";
import { dialog } from "../frame.js";
import { count } from "../words.js";
import { lines } from "./time-marks.js";

const MOST_LINES = 500;

/** A menu of boxes: one for each node and each kind of message. */
export function filterMenu(time) {
  const said = h("span", {});
  const box = h("div", { class: "time-box" });
  const summary = h("summary", { class: "pair" }, h("span", { class: "quiet" }, "show"), said);
  const element = h("details", { class: "time-menu", onkeydown: (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.stopPropagation();
    element.open = false;
    summary.focus();
  } }, summary, box);
  const check = (hidden, value) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: !hidden.has(value), onchange: ({ target }) => {
    hidden[target.checked ? "delete" : "add"](value);
    time.draw();
  } }), String(value));
  const outside = (event) => element.contains(event.target) || (element.open = false);
  document.addEventListener("pointerdown", outside);
  let drawn = "";
  return {
    element,
    leave: () => document.removeEventListener("pointerdown", outside),
    update(kinds) {
      const nodes = Array.from({ length: time.run.setting.nodes }, (_, node) => node);
      const rest = (hidden, all, words) => {
        const shown = all.filter((it) => !hidden.has(it)).length;
        return shown < all.length ? `${shown} of ${all.length} ${words}` : `all ${words}`;
      };
      say(said, `${rest(time.hiddenNodes, nodes, "nodes")}, ${rest(time.hiddenKinds, kinds, "kinds")}`);
      if (drawn === (drawn = `${nodes.length} ${kinds}`)) return;
      const part = (title, hidden, all) => h("fieldset", {}, h("legend", {}, title), all.map((it) => check(hidden, it)));
      fill(box, part("Nodes", time.hiddenNodes, nodes), kinds.length > 0 && part("Messages", time.hiddenKinds, kinds), h("button", { class: "button", onclick: () => time.table() }, "As a table"));
    },
  };
}

/** The numbers of the diagram. */
export function timeTable(run, { hiddenNodes, hiddenKinds }) {
  const data = lines(run);
  const row = (tag, cells) => h("tr", {}, cells.map((it) => h(tag, tag === "th" ? { scope: "col" } : {}, String(it ?? "–"))));
  const part = (title, heads, all, cells) => [h("h3", {}, `${title} ${count(all.length)}`), all.length > 0 && h("table", {}, h("thead", {}, row("th", heads)), h("tbody", {}, all.slice(0, MOST_LINES).map((it) => row("td", cells(it))))), all.length > MOST_LINES && h("p", {}, `The first ${MOST_LINES} are listed. The trace file has all.`)];
  const bars = (title, by, all) => part(title, ["node", "client", by, "from step", "to step"], all.filter((it) => !hiddenNodes.has(it.node)), (it) => [it.node, it.client, it.tone, it.from, it.to ?? "not yet"]);
  dialog(
    "Time in numbers",
    bars("Inside", "by", data.bars),
    bars("Waits", "for", data.waits),
    part("Messages", ["kind", "from", "to", "token", "sent at", "received at"], data.messages.filter((it) => !hiddenKinds.has(it.kind) && !hiddenNodes.has(it.from) && !hiddenNodes.has(it.to)), (it) => [it.kind, it.from, it.to, it.tone, it.of ? `${it.sent}, a copy` : it.sent, it.received ?? (it.lost === null ? "in flight" : `lost at ${it.lost}`)]),
    data.crashes.length > 0 && bars("Down", "by", data.crashes),
  );
}
