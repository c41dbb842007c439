// Both runs as a whole: figures with bars that grow from the middle. The better one is bold.

import { h } from "../dom.js";

const ROWS = { messages_per_entry: "messages an entry", words_per_entry: "words an entry", mean_wait: "mean wait", p99_wait: "p99 wait" };

export function versus({ a, b }) {
  const side = (key, own, other, tone) => {
    const bar = h("i", { class: tone, "aria-hidden": "true" });
    bar.style.width = `${(Math.max(0.02, own[key] / (Math.max(own[key], other[key]) || 1)) * 65).toFixed(1)}%`;
    return h("td", {}, h("div", {}, bar, h(own[key] < other[key] ? "strong" : "span", {}, String(Number(own[key].toPrecision(3))))));
  };
  return h("table", { class: "versus" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, a.setting.algorithm), h("td", {}), h("th", { scope: "col" }, b.setting.algorithm))), h("tbody", {}, Object.entries(ROWS).map(([key, words]) => h("tr", {}, side(key, a, b, "t0"), h("th", { scope: "row" }, words), side(key, b, a, "t3")))));
}
