// The marks of a recording: paths by their style, the same for SVG and for canvas; views above, seconds below. What they look like is
// in recording.css.

import { s } from "../dom.js";
import { paint } from "../draw/paint.js";

const clamp = (low, value, high) => Math.max(low, Math.min(high, value));
const n = (value) => Math.round(value * 10) / 10;
/** The height of what stands above the rows. */
export const TOP = 24;
const MOST_LANES = 6;
/** A bin of time in pixels. With more grants than this in each, they are folded. */
const [BIN, FULL] = [3, 10];

/** For each node and bin: how long grants are held in it, next to the fullest. */
function folded(grants, { left, width, lo, hi, end, x, y }) {
  const [count, wide] = [Math.ceil((width - left) / BIN), BIN / (x(lo + 1) - x(lo))];
  const bins = new Map([...y.keys()].map((node) => [node, new Float64Array(count)]));
  let most = 0;
  for (const it of grants) {
    const [from, to, row] = [Math.max(it.from, lo) - lo, Math.min(it.to ?? end, hi) - lo, bins.get(it.node)];
    for (let at = Math.floor(from / wide); at < count && at * wide < to; at += 1) most = Math.max(most, (row[at] += Math.min(to, (at + 1) * wide) - Math.max(from, at * wide)));
  }
  return { bins, most };
}

/** Lanes within a row: what overlaps stands below each other, as far as there is room. */
function lanes(items, most = MOST_LANES) {
  const ends = new Map();
  return items.map((it) => {
    const row = ends.get(it.node) ?? ends.set(it.node, []).get(it.node);
    let lane = row.findIndex((end) => end <= it.from);
    if (lane < 0) lane = row.length < most ? row.length : it.from % 1 > 0.5 ? 0 : most - 1;
    row[lane] = it.to ?? Infinity;
    return { it, lane };
  });
}

/** All marks in sight. `name` is the one that is shown alone, or "". */
export function marks(data, scale, name) {
  const { y, row, x, lo, hi, end } = scale;
  const paths = new Map();
  const labels = [];
  let number = 0;
  const add = (style, d) => {
    paths.set(style, (paths.get(style) ?? "") + d);
    number += 1;
  };
  const sees = (it) => y.has(it.node) && it.from <= hi && ((it.how === "no_answer" ? it.until : it.to) ?? end) >= lo;
  const span = (it) => [Math.max(scale.left - 4, x(it.from)), Math.min(scale.width + 4, x(it.to ?? end))];
  const box = (left, top, wide, tall) => `M${n(left)} ${n(top)}h${n(Math.max(1.5, wide))}v${n(tall)}h${n(-Math.max(1.5, wide))}z`;
  const high = row * 0.74;
  const top = (node) => y.get(node) - high / 2;

  const bands = data.bands.filter(sees);
  for (const [node] of y) {
    // Alive is what is left between the gaps.
    let from = scale.left - 4;
    for (const gap of bands.filter((it) => it.node === node && it.kind === "down")) {
      const [left, right] = span(gap);
      if (left > from) add("alive", box(from, top(node), left - from, high));
      add("gone", `M${n(left)} ${n(y.get(node))}H${n(right)}`);
      from = right;
    }
    const right = Math.min(scale.width + 4, x(end));
    if (from < right) add("alive", box(from, top(node), right - from, high));
  }
  for (const it of bands) {
    const [left, right] = span(it);
    const [above, wide] = [top(it.node), right - left];
    if (it.kind === "leads") add("leads", box(left, above, wide, 2.5));
    if (it.kind === "lapsed" || it.kind === "silent") add(it.kind, box(left, above, wide, high));
    // Also where the cluster has gone on without it: then it is no member, and whether it runs is not known.
    if (it.kind === "silent") add("hush", `M${n(left)} ${n(y.get(it.node))}H${n(right)}`);
    if (it.kind === "cut") add("cut", `M${n(left)} ${n(above + high - 1)}H${n(right)}`);
    if (it.kind === "out") add("out", box(left, above + 0.5, wide, high - 1));
    if (it.kind !== "still") continue;
    for (let at = left - high; at < right; at += 6) {
      const [from, to] = [Math.max(at, left), Math.min(at + high, right)];
      if (to > from) add("still", `M${n(from)} ${n(above + high - (from - at))}L${n(to)} ${n(above + high - (to - at))}`);
    }
  }
  for (const { time } of data.views) if (time >= lo && time <= hi) add("turn", `M${n(x(time))} 0V${n(scale.tall)}`);

  const shown = (it) => sees(it) && (!name || it.name === name);
  const slots = data.grants.reduce((most, it) => (it.name === name ? Math.max(most, it.slot + 1) : most), 1);
  const grants = data.grants.filter(shown);
  const isFolded = grants.length > (FULL * y.size * (scale.width - scale.left)) / BIN;
  if (isFolded) {
    const { bins, most } = folded(grants, scale);
    for (const [node, row] of bins) row.forEach((value, at) => value > 0 && add("grant pine", box(scale.left + at * BIN, y.get(node) + high * (0.2 - (0.62 * value) / most), BIN - 0.6, (high * 0.62 * value) / most)));
  }
  const bars = isFolded ? grants.filter((it) => it.wrong) : grants;
  const placed = name && slots <= MOST_LANES ? bars.map((it) => ({ it, lane: it.slot })) : lanes(bars);
  const rows = placed.reduce((most, { lane }) => Math.max(most, lane + 1), 1);
  const thick = clamp(1, (high * 0.66) / rows - 1, name ? 16 : Math.max(10, high / 10));
  // Where a mark would not be seen beside the last one, it is not drawn.
  const covered = new Map();
  const hides = (place, left, right) => right < (covered.get(place) ?? 0) || (covered.set(place, Math.max(left + 1, right)), false);
  for (const { it, lane } of placed) {
    const [left, right] = span(it);
    const at = top(it.node) + 4 + lane * (thick + 1);
    const tone = name ? `t${it.slot % 6}` : "pine";
    if (it.how === "no_answer") add("maybe", box(right, at + 0.5, Math.min(scale.width + 4, x(it.until ?? end)) - right, thick - 1));
    if (hides(`${it.node} ${lane}`, left, right) && !it.wrong) continue;
    // A hair between bars that follow each other.
    add(`grant ${tone}`, box(left, at, right - left - (right - left > 3 ? 0.7 : 0), thick));
    if (it.wrong) add("clash", box(left - 1.5, at - 1.5, right - left + 3, thick + 3));
    if (it.before && lo <= 0) add(`before ${tone}`, `M${n(left - 5)} ${n(at + thick / 2)}l4 ${n(-thick / 2)}v${n(thick)}z`);
    if (thick >= 11 && right - left > 40) labels.push({ x: Math.max(left, scale.left) + 5, y: at + thick / 2 + 3.6, tone, text: `${it.slot}` });
  }
  const waits = data.waits.filter(shown);
  for (const { it, lane } of lanes(waits, 3)) {
    const [left, right] = span(it);
    const at = top(it.node) + high - 4 - lane * 4;
    if (!hides(`waits ${it.node} ${lane}`, left, right)) add("wait", `M${n(left)} ${n(at)}H${n(Math.max(left + 1, right))}`);
  }
  const hands = data.hands.filter((it) => (!name || it.name === name) && y.has(it.from) && y.has(it.to) && it.at >= lo && it.left <= hi);
  if (name || hands.length <= 120) {
    for (const it of hands) {
      const down = y.get(it.to) > y.get(it.from) ? 1 : -1;
      const [from, to] = [y.get(it.from) + (down * high) / 2 - down * 3, y.get(it.to) - (down * high) / 2];
      add("hand", `M${n(x(it.left))} ${n(from)}L${n(x(it.at))} ${n(to)}`);
      add("tip", `M${n(x(it.at))} ${n(to)}l-2.6 ${-5 * down}h5.2z`);
    }
  }

  // A partition is a bracket between rows of two sides.
  const order = [...y.keys()];
  for (const it of data.partitions) {
    if (it.from > hi || (it.to ?? end) < lo) continue;
    const side = (node) => it.sides.findIndex((nodes) => nodes.includes(node)) + 1;
    for (let at = 1; at < order.length; at += 1) {
      const [one, other] = [side(order[at - 1]), side(order[at])];
      if (!one || !other || one === other) continue;
      const between = (y.get(order[at - 1]) + y.get(order[at])) / 2;
      const [left, right] = [Math.max(scale.left, x(it.from)), Math.min(scale.width, x(it.to ?? end))];
      add(it.both ? "part" : "part one-way", `M${n(left)} ${n(between - 4)}v8M${n(left)} ${n(between)}H${n(right)}M${n(right)} ${n(between - 4)}v8`);
    }
  }
  const findings = data.findings.filter((it) => it.time >= lo && it.time <= hi + 1).map((it) => ({ it, x: x(it.time) }));
  for (const { x: at } of findings) for (let line = -24; line < scale.tall; line += 7) add("wrong-hatch", `M${n(at)} ${line + 12}l12 -12`);
  for (const { x: at } of findings) add("wrong-edge", `M${n(at)} 0V${n(scale.tall)}M${n(at + 12)} 0V${n(scale.tall)}`);
  return { paths, labels, findings, number, bands, grants, waits, isFolded };
}

/** What is drawn below is first. */
const ORDER = ["alive", "gone", "lapsed", "silent", "out", "hush", "still", "turn", "cut", "leads", "wait", "hand", "tip", "maybe", "before", "grant", "part", "wrong-hatch", "wrong-edge", "clash"];
const sorted = (paths) => [...paths].sort(([one], [other]) => ORDER.indexOf(one.split(" ")[0]) - ORDER.indexOf(other.split(" ")[0]));
const styled = (style, d) => s("path", { class: `rec ${style}`, d });

export const asSvg = ({ paths, labels }) => [sorted(paths).map(([style, d]) => styled(style, d)), labels.map((it) => s("text", { class: `bar-number ${it.tone}`, x: n(it.x), y: n(it.y) }, it.text))];

/** The same on canvas. The numbers of bars are left out: where there are so many, they have no room. */
export const onCanvas = (canvas, probe, { paths }, scale) => paint(canvas, probe, sorted(paths).map(([style, d]) => styled(style, d)), { ...scale, left: scale.left - 6 });

/** Views and findings, above the rows. Labels that would touch are left out. */
export function views(data, { width, left, lo, hi, x }, findings) {
  let free = left - 2;
  const room = (at, text) => {
    const wide = text.length * 6.4 + 10;
    if (at < free || at + wide > width + 6) return null;
    free = at + wide;
    return text;
  };
  const current = data.views.findLast((it) => it.time <= lo);
  const shown = [...(current ? [{ ...current, time: lo }] : []), ...data.views.filter((it) => it.time > lo && it.time <= hi)];
  // The words of a finding come first: they stand where its band is.
  const pills = findings.slice(0, 1).map(({ it, x }) => {
    const [text, wide] = it.kind === "violation" ? ["violation", 66] : ["stuck", 46];
    const at = clamp(left, x + 6 - wide / 2, width - wide - 2);
    return { at, wide, node: s("g", { class: "pill", transform: `translate(${at} 2)` }, s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 13 }, text)) };
  });
  const labels = shown.map((it) => {
    const at = x(it.time);
    const text = pills.some((pill) => at + 50 > pill.at && at < pill.at + pill.wide) ? null : room(at + 4, `view ${it.view}`);
    return [s("path", { d: `M${at} 6V${TOP}` }), text && s("text", { x: at + 4, y: 16 }, text)];
  });
  return [labels, pills.map((it) => it.node)];
}

/** Seconds, below the rows. */
export function times({ width, lo, hi, end, x }) {
  const about = (hi - lo) / Math.max(2, width / 110);
  const unit = 10 ** Math.floor(Math.log10(about));
  const every = unit * [1, 2, 5, 10].find((by) => unit * by >= about);
  const ticks = [];
  for (let time = Math.ceil(lo / every) * every; time <= Math.min(hi, end); time += every) ticks.push(time);
  const digits = Math.max(0, -Math.floor(Math.log10(every) + 1e-9));
  return ticks.filter((time) => x(time) < width - 26).map((time) => [s("path", { d: `M${x(time)} 0v5` }), s("text", { x: x(time), y: 15, "text-anchor": "middle" }, `${time.toFixed(digits)} s`)]);
}
