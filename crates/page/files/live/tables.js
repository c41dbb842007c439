// Charts as tables, and the projector: what all live views offer, by a key and by a button.

import { announce, fill, h } from "../dom.js";
import { mark } from "../router.js";

const root = document.documentElement;
const onStage = () => "stage" in root.dataset;

/** Whether charts are shown as tables: a choice that goes with the reader from view to view. */
let asTables = false;

export const tabled = () => asTables;

/** A table: columns as texts, or as [text, "number"]; rows as lists of cells, the first of which heads its row. */
export function grid(columns, rows) {
  const kinds = columns.map((column) => (Array.isArray(column) ? column[1] : null));
  const cell = (value, at) => (at === 0 ? h("th", { scope: "row" }, value) : h("td", { class: kinds[at] }, value));
  return h("table", {}, h("thead", {}, h("tr", {}, columns.map((column, at) => h("th", { scope: "col", class: kinds[at] }, Array.isArray(column) ? column[0] : column)))), h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))));
}

/** The place of a table. It is filled only while it is shown, and only if its rows are others. */
export function place(name) {
  const element = h("div", { class: "chart-table as-table", hidden: true, tabindex: "0", role: "region", "aria-label": `${name}, as a table` });
  return {
    element,
    update(columns, rows) {
      element.hidden = !asTables;
      if (!asTables) return;
      const key = JSON.stringify(rows);
      if (element.dataset.key === key) return;
      element.dataset.key = key;
      fill(element, grid(columns, rows));
    },
  };
}

/** Everything larger, without bars: for a room full of people. */
function stage(on) {
  root.toggleAttribute("data-stage", on);
  mark("stage", on ? "1" : "");
  // What fits is measured anew.
  dispatchEvent(new Event("resize"));
}

/** The buttons and keys of a live view; `redraw` draws it. `leave` is called with the view. */
export function looks(query, redraw) {
  root.toggleAttribute("data-stage", query.get("stage") === "1");
  const table = h("button", { class: "button small", "aria-pressed": asTables, title: "Charts as tables (T)", onclick: toggle }, "As tables");
  const big = h("button", { class: "button small to-stage", title: "Everything larger, for a projector (P); back with Esc", onclick: () => stage(true) }, "Projector");
  function toggle() {
    asTables = !asTables;
    table.setAttribute("aria-pressed", asTables);
    announce(`Charts are shown as ${asTables ? "tables" : "pictures"}`);
    redraw();
  }
  return {
    buttons: h("div", { class: "looks" }, table, big),
    keys: [
      { name: "T", words: "charts as tables", call: toggle },
      { name: "P", words: "for a projector, and back", call: () => stage(!onStage()) },
      { name: "Escape", words: "", call: () => (onStage() ? stage(false) : false) },
    ],
    leave: () => root.removeAttribute("data-stage"),
  };
}
