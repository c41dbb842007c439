// The lines of a run in time, and the paths that draw them: the same paths for SVG, for canvas and for files.

import { colour } from "../draw/marks.js";

const known = new WeakMap();

/** The bars, waits, messages and crashes of a run, as objects. */
export function lines(run) {
  const outline = run.outline;
  let found = known.get(outline);
  if (!found) known.set(outline, (found = read(outline, run.setting)));
  return found;
}

function read(outline, setting) {
  const bar = ([node, client, from, to, tone]) => ({ node, client, from, to, tone });
  const messages = outline.messages.map(([id, from, to, sent, received, kind, token, asks, lost]) => ({ id, from, to, sent, received, kind, token, asks, lost, tone: token ?? asks }));
  return {
    bars: outline.bars.map(bar),
    waits: outline.waits.map(bar),
    messages,
    crashes: outline.crashes.map(([node, from, to]) => ({ node, from, to })),
    kinds: [...new Set(messages.map((it) => it.kind))].sort(),
    clients: Math.max(1, setting.clients ?? 1),
    numbered: (setting.tokens ?? 1) > 1 || (setting.groups ?? 1) > 1 || (setting.clients ?? 1) > 1,
  };
}

/** The time in which the run violates a property, and the rows that it is about. */
export function band(run, end) {
  const wrong = run.violated;
  if (!wrong || wrong.at === undefined || wrong.at > run.last) return null;
  const inside = lines(run).bars.filter((it) => it.from <= wrong.at && (it.to === null || it.to > wrong.at));
  const allowed = /(\d+) allowed/.exec(wrong.detail ?? "");
  if (wrong.property !== "at-most-k-inside" || !allowed || inside.length < 2) return { from: wrong.at, to: end, nodes: null, text: `violates ${wrong.property}` };
  const ends = inside.map((it) => it.to ?? Infinity).sort((a, b) => a - b);
  const to = ends[inside.length - Number(allowed[1]) - 1] ?? Infinity;
  return { from: wrong.at, to: Math.min(to, end), nodes: inside.map((it) => it.node), text: inside.length === 2 ? "both inside" : `${inside.length} inside` };
}

/** A view of time: which steps are in sight, and where they are. `y` has the middle of the row of each node that is shown. */
export class Scale {
  constructor({ lo, step, left, width, row, y, end }) {
    Object.assign(this, { lo, step, left, width, row, y, end });
    this.hi = lo + (width - left) / step;
  }
  x(at) {
    return this.left + (at - this.lo) * this.step;
  }
  at(x) {
    return this.lo + (x - this.left) / this.step;
  }
  shows(from, to) {
    return from <= this.hi + 1 && (to ?? this.end) >= this.lo - 1;
  }
}

/** Where the line of a message ends: what has not arrived points at its node, behind the end of the run. */
export function arrival(message, scale) {
  if (message.received !== null) return message.received;
  return Math.max(scale.end, message.sent + 1) + 1;
}

/** The height of a message at a moment. */
export function height(message, at, scale) {
  const [from, to] = [scale.y.get(message.from), scale.y.get(message.to)];
  const share = Math.min(1, Math.max(0, (at - message.sent) / (arrival(message, scale) - message.sent || 1)));
  return from === to ? from - 4 * share * (1 - share) * scale.row * 0.45 : from + (to - from) * share;
}

const n = (value) => Math.round(value * 10) / 10;

function box(x1, x2, y, tall, round) {
  const [w, r] = [Math.max(1.5, x2 - x1), Math.min(round, (x2 - x1) / 2)];
  if (r < 1) return `M${n(x1)} ${n(y - tall / 2)}h${n(w)}v${n(tall)}h${n(-w)}z`;
  return `M${n(x1 + r)} ${n(y - tall / 2)}h${n(w - 2 * r)}q${n(r)} 0 ${n(r)} ${n(r)}v${n(tall - 2 * r)}q0 ${n(r)} ${n(-r)} ${n(r)}h${n(2 * r - w)}q${n(-r)} 0 ${n(-r)} ${n(-r)}v${n(2 * r - tall)}q0 ${n(-r)} ${n(r)} ${n(-r)}z`;
}

/** How high bars are. */
export const thick = (scale, clients) => Math.max(2, Math.min(15, scale.row * 0.54) / Math.min(clients, 4));

/** The middle of the bar of a client. */
export function lane(it, scale, clients) {
  const middle = scale.y.get(it.node);
  const places = Math.min(clients, 4);
  return places === 1 ? middle : middle + ((it.client % places) - (places - 1) / 2) * (thick(scale, clients) + 1);
}

/** Which marks are in sight. */
export function sight(data, scale, kinds) {
  const near = (it) => scale.y.has(it.node) && scale.shows(it.from, it.to);
  const flies = (it) => !kinds.has(it.kind) && scale.y.has(it.from) && scale.y.has(it.to) && scale.shows(it.sent, it.received ?? it.lost);
  return { bars: data.bars.filter(near), waits: data.waits.filter(near), crashes: data.crashes.filter(near), messages: data.messages.filter(flies) };
}

/** The paths of what is in sight, one for each kind of line and colour: [{kind, tone, d}], in the order in which they are drawn. */
export function paths(seen, scale, clients) {
  const all = new Map();
  const add = (kind, tone, d) => {
    const key = `${kind} ${colour(tone)}`;
    if (!all.has(key)) all.set(key, []);
    all.get(key).push(d);
  };
  const [tall, fine] = [thick(scale, clients), scale.step >= 5];
  const until = (it) => Math.min(it.to ?? scale.end, scale.hi + 2);
  for (const it of seen.crashes) add("gap", null, `M${n(scale.x(it.from))} ${n(scale.y.get(it.node))}H${n(scale.x(until(it)))}`);
  for (const it of seen.waits) add("wait", it.tone, `M${n(scale.x(it.from))} ${n(lane(it, scale, clients))}H${n(scale.x(until(it)))}`);
  for (const it of seen.bars) add("inside", it.tone, box(scale.x(it.from), scale.x(until(it)), lane(it, scale, clients), tall, fine ? 3 : 0));
  for (const it of seen.messages) message(it, scale, fine, add);
  const ranks = ["gap", "wait", "inside", "asks", "carries", "tip", "point", "cross"];
  const rank = (key) => ranks.indexOf(key.split(" ")[0]);
  return [...all].sort(([a], [b]) => rank(a) - rank(b)).map(([key, parts]) => ({ kind: key.split(" ")[0], tone: key.split(" ")[1], d: parts.join("") }));
}

function message(it, scale, fine, add) {
  const [x1, y1] = [scale.x(it.sent), scale.y.get(it.from)];
  const last = it.lost ?? it.received ?? scale.end;
  const [x2, y2] = [scale.x(last), height(it, last, scale)];
  const self = it.from === it.to;
  const kind = it.token === null ? "asks" : "carries";
  add(kind, it.tone, self ? `M${n(x1)} ${n(y1)}Q${n((x1 + x2) / 2)} ${n(y1 - scale.row * 0.9)} ${n(x2)} ${n(y2)}` : `M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}`);
  if (it.lost !== null) add("cross", it.tone, `M${n(x2 - 4)} ${n(y2 - 4)}l8 8m0 -8l-8 8`);
  else if (it.received !== null && fine) {
    const angle = self ? Math.PI / 3 : Math.atan2(y2 - y1, x2 - x1);
    const size = it.token === null ? 6 : 7.5;
    const corner = (turn) => `${n(x2 - size * Math.cos(angle + turn))} ${n(y2 - size * Math.sin(angle + turn))}`;
    add(it.token === null ? "tip" : "point", it.tone, `M${n(x2)} ${n(y2)}L${corner(0.42)}L${corner(-0.42)}z`);
  }
}

/** Time folded into bins, where steps are narrower than a pixel: the share of each bin that a node is inside, waits, and how many messages were sent. */
export function bins(seen, scale, wide = 3) {
  const most = Math.ceil((scale.width - scale.left) / wide);
  const rows = new Map([...scale.y.keys()].map((node) => [node, { inside: new Float64Array(most), waits: new Float64Array(most) }]));
  const place = (at) => Math.max(0, Math.min(most, (scale.x(at) - scale.left) / wide));
  const spread = (into, from, to) => {
    const [begin, end] = [place(from), place(to)];
    for (let bin = Math.floor(begin); bin < Math.min(end, most); bin += 1) into[bin] += Math.min(end, bin + 1) - Math.max(begin, bin);
  };
  for (const it of seen.bars) spread(rows.get(it.node).inside, it.from, it.to ?? scale.end);
  for (const it of seen.waits) spread(rows.get(it.node).waits, it.from, it.to ?? scale.end);
  const sent = new Float64Array(most);
  for (const it of seen.messages) if (it.sent >= scale.lo && it.sent <= scale.hi) sent[Math.min(most - 1, Math.floor(place(it.sent)))] += 1;
  return { wide, rows, sent };
}

/** Numbers for an axis: about one in 60 px. */
export function ticks(scale, last, apart = 60) {
  const least = apart / scale.step;
  const size = [1, 2, 5].map((one) => one * 10 ** Math.floor(Math.log10(Math.max(least, 1)))).concat(10 ** (Math.floor(Math.log10(Math.max(least, 1))) + 1)).find((it) => it >= least) ?? 1;
  const all = [];
  for (let at = Math.max(0, Math.ceil(scale.lo / size) * size); at <= Math.min(scale.hi, last); at += size) all.push(at);
  return all;
}
