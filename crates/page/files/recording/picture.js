// The time line in words, as a table, and as a file.

import { s } from "../dom.js";
import { copied, offer, standing } from "../play/export.js";
import { fence, many, who } from "../words.js";
import { TOP, asSvg, marks, times, views } from "./marks.js";
import { says } from "./says.js";

const BANDS = { down: "is not there", still: "stands still", silent: "gives no answer", lapsed: "has no lease", cut: "does not reach the leader", out: "is out of the view", leads: "leads" };
const MOST_ROWS = 400;

export const COLUMNS = ["node", "what", "name", ["from", "number"], ["to", "number"]];

/** What lasts in the window, in the order in which it began. */
export function rows({ bands, grants, waits }) {
  const by = (it) => (it.label ? ` by ${who(it.label).name}` : "");
  const all = [
    ...bands.map((it) => [it, BANDS[it.kind], ""]),
    ...grants.map((it) => [it, `slot ${it.slot} is held${by(it)}, fence ${fence(it.fence)}${it.how === "no_answer" ? ", then not known" : ""}`, it.name]),
    ...waits.map((it) => [it, `waits${it.label ? `: ${who(it.label).name}` : ""}`, it.name]),
  ].sort(([one], [other]) => one.from - other.from || one.node - other.node);
  const cells = all.slice(0, MOST_ROWS).map(([it, words, name]) => [String(it.node), words, name, it.before ? "before" : it.from.toFixed(3), it.to?.toFixed(3) ?? "–"]);
  return all.length > MOST_ROWS ? [...cells, ["", `and ${many(all.length - MOST_ROWS, "more row")}: zoom in`, "", "", ""]] : cells;
}

/** The window of time as it is shown. */
function draw(line) {
  const { data } = line;
  const scale = line.scale();
  const { left, width, tall, lo, hi, x, y } = scale;
  const seen = marks(data, scale, line.name);
  const event = line.events[line.at];
  const head = event && event.time >= lo && event.time <= hi ? x(event.time) : null;
  const drawn = s(
    "svg",
    { viewBox: `0 0 ${width} ${TOP + tall + 20}` },
    s("svg", { class: "rec-axis", width, height: TOP }, views(data, scale, seen.findings)),
    s("svg", { x: left - 6, y: TOP, width: width - left + 6, height: tall, viewBox: `${left - 6} 0 ${width - left + 6} ${tall}` }, asSvg(seen)),
    [...y].map(([node, at]) => s("text", { class: "rec-name", x: left - 14, y: TOP + at + 4 }, String(node))),
    head !== null && s("path", { class: "rec-head", d: `M${head} ${TOP}V${TOP + tall}` }),
    s("svg", { class: "rec-axis", y: TOP + tall, width, height: 20 }, times(scale)),
  );
  const span = `${lo.toFixed(1)} s to ${Math.min(hi, data.last).toFixed(1)} s`;
  const facts = rows(seen).slice(0, 40).map(([node, what, name, from, to]) => (node ? ` Node ${node} ${what}${name && ` (${name})`}, ${from === "before" ? "since before the recording" : `from ${from} s`}${to === "–" ? "" : ` to ${to} s`}.` : ""));
  const wrong = seen.findings.map(({ it }) => ` ${says(it)}.`);
  const words = `${span}, one row for each node: ${[...y.keys()].join(", ")}. ${many(seen.grants.length, "grant")}, ${many(seen.waits.length, "wait")}.${wrong.join("")}${facts.join("")}`;
  return copied("recording", drawn, () => standing(`${data.header.title}${line.name && `, ${line.name}`}: ${span}`, event ? `${event.time.toFixed(3)} s: ${says(event)}.` : "", drawn, words));
}

export function exportLine(line) {
  const { title } = line.data.header;
  offer(`${title}, in the colours of the page.`, [{ title: "Time", words: "The window of time that is shown.", file: `${title.toLowerCase().replace(/\W+/g, "-")}-time`, draw: () => draw(line) }]);
}
