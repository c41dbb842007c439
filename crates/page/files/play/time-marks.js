// The lines of a run in time, and the paths that draw them: the same paths for SVG, for canvas and for files.

import { s } from "../dom.js";
import { colour } from "../draw/marks.js";

export const RIGHT = 14;
const known = new WeakMap();

/** The bars, waits, messages and crashes of a run, as objects. */
export function lines({ outline, setting }) {
  let found = known.get(outline);
  if (found) return found;
  const bar = ([node, client, from, to, tone]) => ({ node, client, from, to, tone });
  const messages = outline.messages.map(([id, from, to, sent, received, kind, token, asks, lost]) => ({ id, from, to, sent, received, kind, token, lost, tone: token ?? asks, of: null }));
  const byId = new Map(messages.map((it) => [it.id, it]));
  for (const [copy, of] of outline.copies) byId.get(copy).of = byId.get(of) ?? null;
  found = {
    bars: outline.bars.map(bar),
    waits: outline.waits.map(bar),
    messages,
    crashes: outline.crashes.map(([node, from, to]) => ({ node, client: 0, from, to, tone: null })),
    kinds: [...new Set(messages.map((it) => it.kind))].sort(),
    clients: Math.min(4, setting.clients),
    numbered: setting.tokens > 1 || setting.groups > 1 || setting.clients > 1,
  };
  known.set(outline, found);
  return found;
}

/** A view of time: which steps are in sight, and where they are. `y` has the middle of the row of each node that is shown. */
export class Scale {
  constructor(facts) {
    Object.assign(this, facts);
    this.hi = this.lo + (this.width - this.left) / this.step;
    this.tall = 6 + this.row * this.y.size;
  }
  x(at) {
    return n(this.left + (at - this.lo) * this.step);
  }
  at(x) {
    return this.lo + (x - this.left) / this.step;
  }
}

/** One decimal is finer than a pixel. */
const n = (value) => Math.round(value * 10) / 10;

/** The height of a message at a moment. What has not arrived points at its node, behind the end of the run. A copy begins where the
 * message was that it is one of. */
export function height({ from, to, sent, received, of }, at, scale) {
  const { y, row, end } = scale;
  const share = Math.min(1, (at - sent) / ((received ?? Math.max(end, sent + 1) + 1) - sent || 1));
  if (from === to) return n(y.get(from) - 4 * share * (1 - share) * row * 0.45);
  const begin = of ? height(of, sent, scale) : y.get(from);
  return n(begin + (y.get(to) - begin) * share);
}

const thick = (scale, clients) => Math.max(2, Math.min(15, scale.row * 0.54) / clients);

/** The middle of the bar of a client. */
const lane = (it, scale, clients) => n(scale.y.get(it.node) + ((it.client % clients) - (clients - 1) / 2) * (thick(scale, clients) + 1));

/** Which marks are in sight. */
export function sight(data, { y, lo, hi, end }, hiddenKinds) {
  const shows = (from, to) => from <= hi + 1 && (to ?? end) >= lo - 1;
  const near = (it) => y.has(it.node) && shows(it.from, it.to);
  const flies = (it) => !hiddenKinds.has(it.kind) && y.has(it.from) && y.has(it.to) && shows(it.sent, it.received ?? it.lost);
  return { bars: data.bars.filter(near), waits: data.waits.filter(near), crashes: data.crashes.filter(near), messages: data.messages.filter(flies) };
}

const KINDS = ["wait", "inside", "asks", "carries", "tip", "point"];

/** The paths of what is in sight, one element for each kind of line and colour, in the order in which they are drawn. */
export function paths(seen, scale, clients) {
  const all = new Map();
  const add = (kind, tone, d) => {
    const key = `${KINDS.indexOf(kind)} ${colour(tone)}`;
    if (!all.has(key)) all.set(key, []);
    all.get(key).push(d);
  };
  const tall = n(thick(scale, clients));
  const until = (it) => scale.x(Math.min(it.to ?? scale.end, scale.hi + 2));
  const flat = (kind) => (it) => add(kind, it.tone, `M${scale.x(it.from)} ${lane(it, scale, clients)}H${until(it)}`);
  seen.waits.forEach(flat("wait"));
  for (const it of seen.bars) {
    const [x, y] = [scale.x(it.from), n(lane(it, scale, clients) - tall / 2)];
    const [wide, r] = [Math.max(1.5, n(until(it) - x)), scale.step < 5 ? 0 : 3];
    add("inside", it.tone, r ? `M${n(x + r)} ${y}h${n(wide - 2 * r)}q${r} 0 ${r} ${r}v${n(tall - 2 * r)}q0 ${r} ${-r} ${r}h${n(2 * r - wide)}q${-r} 0 ${-r} ${-r}v${n(2 * r - tall)}q0 ${-r} ${r} ${-r}z` : `M${x} ${y}h${wide}v${tall}h${-wide}z`);
  }
  for (const it of seen.messages) {
    const [x1, y1, last, self] = [scale.x(it.sent), height(it, it.sent, scale), it.lost ?? it.received ?? scale.end, it.from === it.to];
    const [x2, y2, plain] = [scale.x(last), height(it, last, scale), it.token === null];
    add(plain ? "asks" : "carries", it.tone, `M${x1} ${y1}${self ? `Q${n((x1 + x2) / 2)} ${n(y1 - scale.row * 0.9)} ` : "L"}${x2} ${y2}`);
    if (it.received !== null && scale.step >= 5) {
      const [angle, size] = [self ? Math.PI / 3 : Math.atan2(y2 - y1, x2 - x1), plain ? 6 : 7.5];
      const corner = (turn) => `L${n(x2 - size * Math.cos(angle + turn))} ${n(y2 - size * Math.sin(angle + turn))}`;
      add(plain ? "tip" : "point", it.tone, `M${x2} ${y2}${corner(0.42)}${corner(-0.42)}z`);
    }
  }
  return [...all].sort().map(([key, parts]) => s("path", { class: `mark ${KINDS[key[0]]} ${key.slice(2)}`, d: parts.join("") }));
}

/** All marks of a window as elements; bars have the number of their token, slot or group. */
export function drawPaths(seen, scale, { clients, numbered }) {
  const numbers = seen.bars.filter((it) => numbered && thick(scale, clients) >= 9 && it.tone !== null && scale.x(it.to ?? scale.end) - Math.max(scale.left, scale.x(it.from)) > 13);
  return [
    paths(seen, scale, clients),
    numbers.map((it) => s("text", { class: `bar-number ${colour(it.tone)}`, x: Math.max(scale.x(it.from), scale.left) + 4.5, y: lane(it, scale, clients) + 3.4 }, String(it.tone))),
  ];
}

/** The time in which the run violates a property, and the rows that it is about. */
function violation(run, end) {
  const { at, property, detail } = run.violated ?? {};
  if (!(at <= run.last)) return null;
  const inside = lines(run).bars.filter((it) => it.from <= at && (it.to ?? Infinity) > at);
  const allowed = Number(/(\d+) allowed/.exec(detail)?.[1]);
  if (property !== "at-most-k-inside" || !(inside.length > allowed)) return { from: at, to: end, nodes: null, text: `violates ${property}` };
  const ends = inside.map((it) => it.to ?? end).sort((a, b) => a - b);
  return { from: at, to: ends[inside.length - allowed - 1], nodes: inside.map((it) => it.node), text: inside.length === 2 ? "both inside" : `${inside.length} inside` };
}

/** The band of a violation: hatched, with its words where they fit between bars. */
export function drawBand(run, scale) {
  const found = violation(run, scale.end);
  if (!found || found.from > scale.hi || found.to < scale.lo) return null;
  const rows = (found.nodes ?? [...scale.y.keys()]).map((node) => scale.y.get(node)).filter(Boolean).sort((a, b) => a - b);
  if (!rows.length) return null;
  const [y, x] = [rows[0] - scale.row * 0.45, Math.max(scale.left, scale.x(found.from))];
  const [tall, wide] = [rows.at(-1) + scale.row * 0.45 - y, Math.max(3, Math.min(scale.width, scale.x(found.to)) - x)];
  const room = found.text.length * 6.4 + 16;
  const fits = room < wide && scale.row >= 19;
  return s(
    "g",
    { class: "band" },
    s("pattern", { id: "time-hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("path", { class: "hatch", d: "M0 0V7" })),
    s("rect", { fill: "url(#time-hatch)", x, y, width: wide, height: tall }),
    s("path", { class: "edge", d: `M${x} ${y}h${wide}m0 ${tall}h${-wide}` }),
    fits && s("g", { class: "pill", transform: `translate(${x + wide / 2} ${rows.length > 1 ? (rows[0] + rows[1]) / 2 : rows[0]})` }, s("rect", { x: -room / 2, y: -9, width: room, height: 18, rx: 9 }), s("text", { y: 3.8 }, found.text)),
  );
}

/** Numbers of steps, about one in 56 px; the steps themselves where there is room. */
export function drawAxis(run, scale) {
  const named = scale.step >= 58 && run.last > 0;
  const least = named ? 1 : Math.max(1, 56 / scale.step);
  const ten = 10 ** Math.floor(Math.log10(least));
  const size = [1, 2, 5, 10].map((one) => one * ten).find((it) => it >= least);
  const all = [];
  for (let at = Math.ceil(scale.lo / size) * size; at <= Math.min(scale.hi, run.last); at += size) all.push(s("text", { class: named && at && "step", x: Math.min(scale.x(at), scale.width - 18), y: 14 }, named && at ? run.steps[at - 1] : String(at)));
  return all;
}
