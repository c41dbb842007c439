// The figures of the cluster: differences of what its nodes count, for as long as the page looks.

import { h, say } from "../dom.js";
import { sparkline } from "../draw/charts.js";
import { figure, shortClock, time } from "../words.js";
import { place, tabled } from "./tables.js";

const POINTS = 60;
/** Percentiles and messages are about this long: a quiet cluster grants too little for less. */
const SPAN = 30_000;

export class Rates {
  #samples = [];
  points = [];

  /** What the nodes have counted by now. */
  add(at, nodes) {
    const counted = new Map();
    for (const node of nodes) {
      if (node.counts) counted.set(node.node, { incarnation: node.incarnation, grants: node.counts.grants, sent: node.counts.sent, waits: node.waits });
    }
    this.#samples.push({ at, counted });
    if (this.#samples.length > POINTS + 20) this.#samples.shift();
    const last = this.#samples.at(-2);
    if (!last) return;
    const begin = this.#samples.find((sample) => at - sample.at <= SPAN) ?? last;
    const short = difference(last, this.#samples.at(-1));
    const long = difference(begin === this.#samples.at(-1) ? last : begin, this.#samples.at(-1));
    this.points.push({
      at,
      grants: short.seconds > 0 ? short.grants / short.seconds : null,
      p50: percentile(long.waits, 0.5),
      p99: percentile(long.waits, 0.99),
      messages: long.grants > 0 ? long.sent / long.grants : null,
    });
    if (this.points.length > POINTS) this.points.shift();
  }

  get last() {
    return this.points.at(-1) ?? null;
  }
}

/** What was counted between two samples, by the nodes that did not start anew in between. */
function difference(from, to) {
  const sum = { seconds: (to.at - from.at) / 1000, grants: 0, sent: 0, waits: null };
  for (const [node, now] of to.counted) {
    const before = from.counted.get(node);
    if (!before || before.incarnation !== now.incarnation) continue;
    sum.grants += now.grants - before.grants;
    sum.sent += now.sent - before.sent;
    if (!now.waits || !before.waits) continue;
    sum.waits ??= now.waits.map(({ up_to_ms }) => ({ up_to_ms, count: 0 }));
    now.waits.forEach(({ count }, bucket) => {
      sum.waits[bucket].count += count - before.waits[bucket].count;
    });
  }
  return sum;
}

/** A percentile of a histogram, in milliseconds: in proportion within its bucket. */
export function percentile(waits, part) {
  const all = waits?.reduce((sum, { count }) => sum + count, 0) ?? 0;
  if (all === 0) return null;
  let [below, from] = [0, 0];
  for (const { up_to_ms, count } of waits) {
    if (count > 0 && below + count >= part * all) return up_to_ms === null ? from : from + ((up_to_ms - from) * (part * all - below)) / count;
    below += count;
    from = up_to_ms ?? from;
  }
  return from;
}

const FIGURES = [
  { name: "grants a second", of: "grants", text: figure, about: "grants of all nodes that answer" },
  { name: "p50 wait", of: "p50", text: time, about: "half of the requests of the last 30 s were granted within this time, from the nodes' histograms" },
  { name: "p99 wait", of: "p99", text: time, about: "99 of 100 requests of the last 30 s were granted within this time" },
  { name: "messages a grant", of: "messages", text: figure, about: "messages between nodes for each grant of the last 30 s" },
];

/** The figures, each with a small chart of the last two minutes, and the same numbers as a table. */
export function figures(rates) {
  const parts = FIGURES.map((it) => {
    const value = h("dd", { class: "value" }, "–");
    const chart = h("dd", { class: "chart", "aria-hidden": "true" });
    return { ...it, value, chart, box: h("div", { class: "figure", title: it.about }, h("dt", {}, it.name), value, chart) };
  });
  const table = place("Figures of the last two minutes");
  return {
    table: table.element,
    element: h("dl", { class: "figures", "aria-label": "Figures of the cluster" }, parts.map((part) => part.box)),
    update() {
      for (const { of, text, value, chart } of parts) {
        say(value, rates.last ? text(rates.last[of]) : "–");
        chart.hidden = tabled();
        if (!tabled()) chart.replaceChildren(sparkline(rates.points.map((point) => point[of]), POINTS));
      }
      table.update(["at", ...parts.map(({ name }) => [name, "number"])], tabled() ? rates.points.map((point) => [shortClock(point.at), ...parts.map(({ of, text }) => text(point[of]))]).reverse() : []);
    },
  };
}
