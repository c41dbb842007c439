// What went wrong on purpose: nodes that are down, messages that are lost or doubled. Few marks, each with its words; they are drawn
// as elements, also above a canvas.

import { h, s } from "../dom.js";
import { height } from "./time-marks.js";

/** So many marks of a kind are drawn. */
const MOST = 300;

const hatch = () => s("pattern", { id: "down-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("path", { class: "down-line", d: "M0 0V6" }));
const told = (words, kind, ...children) => s("g", { class: `fault ${kind}` }, s("title", {}, words), children);

/** A mark and its halo, around a place. */
const sign = (kind, x, y, d) => [s("path", { class: "fault-halo", d: `M${x} ${y}${d}` }), s("path", { class: `fault-sign ${kind}`, d: `M${x} ${y}${d}` })];
const CROSS = "m-4.5 -4.5l9 9m0 -9l-9 9";
const UP = "m-4 -5l9 5l-9 5z";
const FORK = "m-7 0h6l6 -4.5m-6 4.5l6 4.5";

function down({ node, from, to }, scale) {
  const [middle, x] = [scale.y.get(node), Math.max(scale.left, scale.x(from))];
  const tall = Math.min(22, scale.row * 0.8);
  const wide = Math.max(3, Math.min(scale.width, scale.x(to ?? scale.end)) - x);
  const box = { x, y: middle - tall / 2, width: wide, height: tall, rx: 2 };
  const named = scale.row >= 14 && wide > 86;
  return told(
    `Node ${node} crashes in step ${from}${to === null ? "" : ` and restarts in step ${to}`}`,
    "down",
    s("rect", { class: "down-ground", ...box }),
    s("rect", { fill: "url(#down-hatch)", ...box }),
    s("rect", { class: "down-edge", ...box }),
    named && s("text", { class: "down-word", x: x + 12, y: middle + 4 }, "crashed"),
    from >= scale.lo && sign("cut", x, middle, `m0 ${-tall / 2 - 2}v${tall + 4}`),
    to !== null && to <= scale.hi && sign("up", scale.x(to), middle, UP),
  );
}

export function drawFaults({ crashes, messages }, scale) {
  const within = (at) => at !== null && at >= scale.lo && at <= scale.hi;
  const words = (it) => `${it.kind} from ${it.from} to ${it.to}`;
  const lost = messages.filter((it) => within(it.lost));
  const copies = messages.filter((it) => it.of && within(it.sent));
  return [
    crashes.length > 0 && hatch(),
    crashes.slice(0, MOST).map((it) => down(it, scale)),
    copies.slice(0, MOST).map((it) => told(`${words(it)} is doubled in step ${it.sent}`, "copied", sign("fork", scale.x(it.sent), height(it, it.sent, scale), FORK))),
    lost.slice(0, MOST).map((it) => told(`${words(it)} is lost in step ${it.lost}`, "lost", sign("cross", scale.x(it.lost), height(it, it.lost, scale), CROSS))),
  ];
}

/** What the marks mean, for those that the run has. */
export function faultKey({ crashes, messages }) {
  const key = (words, ...drawn) => h("span", {}, s("svg", { width: 20, height: 14, "aria-hidden": "true" }, drawn), words);
  return [
    crashes.length > 0 && key("crashed", s("rect", { class: "down-edge", fill: "url(#down-hatch)", x: 1, y: 1, width: 18, height: 12, rx: 2 })),
    crashes.some((it) => it.to !== null) && key("restarts", sign("up", 10, 7, UP)),
    messages.some((it) => it.lost !== null) && key("lost", sign("cross", 10, 7, CROSS)),
    messages.some((it) => it.of) && key("doubled", sign("fork", 10, 7, FORK)),
  ].filter(Boolean);
}
