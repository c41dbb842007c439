// A run as lines: which client is inside when, which waits, which messages go where. Lists are those of the server's outlines.
// Lines of one kind are one path each: a gallery has thousands of them.

import { s } from "../dom.js";
import { colour } from "../draw/marks.js";

const n = (value) => value.toFixed(1);

/** Paths by class: {"bar t0": "M…"}. */
class Paths {
  #all = new Map();

  add(kind, d) {
    this.#all.set(kind, (this.#all.get(kind) ?? "") + d);
  }

  elements() {
    return [...this.#all].map(([kind, d]) => s("path", { class: kind, d }));
  }
}

/** The lines of a run. `x(step)` and `y(node)` say where; what has not ended goes on to `end`. `wrong(bar, kind)` marks red. */
export function lines(outline, { x, y, end, wrong = () => false, ends = null, cap = 0 }) {
  const paths = new Paths();
  for (const [node, client, from, to, tone] of outline.waits) {
    const kind = wrong([node, client, from, to, tone], "wait") ? "run-wait wrong" : `run-wait ${colour(tone)}`;
    paths.add(kind, `M${n(x(from))} ${n(y(node))}H${n(to === null ? end : x(to))}`);
  }
  for (const [, from, to, sent, received, , token] of outline.messages) {
    const [x1, y1, y2] = [x(sent), y(from), y(to)];
    const kind = token === null || token === undefined ? "none" : colour(token);
    if (received === null) {
      // Still under way: a short line, and a dot where it ends.
      const [dx, dy] = [Math.min(end - x1, 14), Math.sign(y2 - y1) * Math.min(11, Math.abs(y2 - y1) * 0.45)];
      paths.add(`run-message ${kind}`, `M${n(x1)} ${n(y1)}l${n(dx)} ${n(dy)}`);
      paths.add(`run-dot ${kind}`, `M${n(x1 + dx - 2)} ${n(y1 + dy)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`);
    } else paths.add(`run-message ${kind}`, `M${n(x1)} ${n(y1)}L${n(x(received))} ${n(y2)}${ends ? arrow(x1, y1, x(received), y2, ends) : ""}`);
  }
  for (const [node, client, from, to, tone] of outline.bars) {
    const kind = wrong([node, client, from, to, tone], "bar") ? "run-bar wrong" : `run-bar ${colour(tone)}`;
    const [x1, x2] = [x(from), to === null ? end : x(to)];
    paths.add(kind, `M${n(x1 + cap)} ${n(y(node))}H${n(Math.max(x2 - cap, x1 + cap + 0.1))}`);
  }
  return paths.elements();
}

/** The head of a message, as two strokes. */
function arrow(x1, y1, x2, y2, size) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const end = (turn) => `M${n(x2)} ${n(y2)}l${n(-size * Math.cos(angle + turn))} ${n(-size * Math.sin(angle + turn))}`;
  return end(0.42) + end(-0.42);
}

/** The nodes that do something, if there are too many to draw them all. */
function rows(outline, most) {
  const all = Array.from({ length: outline.nodes }, (_, node) => node);
  if (all.length <= most) return all;
  const busy = new Set([...outline.bars.map(([node]) => node), ...outline.waits.map(([node]) => node), ...outline.messages.flatMap(([, from, to]) => [from, to])]);
  return all.filter((node) => busy.has(node));
}

const TOO_MANY = new Set(["at-most-k-inside", "one-group-at-a-time", "one-of-each-slot", "no-double-entry"]);
const WAITING = new Set(["nobody-left-waiting", "end-reachable"]);

/** The picture of an exhibit: the run, and in red how it ends. With `steps`, their texts below. */
export function picture({ outline, leads }, { width = 420, height = 74, steps = null } = {}) {
  const below = steps ? 24 : 0;
  const shown = rows(outline, 8);
  const place = new Map(shown.map((node, index) => [node, index]));
  const gap = (height - below) / (shown.length + 1);
  const spaced = Math.min(gap, 44);
  const top = (height - below - spaced * (shown.length - 1)) / 2;
  const y = (node) => top + spaced * (place.get(node) ?? 0);
  const span = Math.max(1, outline.to - outline.from + (leads === "dearer" ? 0.3 : 0.6));
  const [left, right] = [26, width - 16];
  const x = (step) => left + Math.max(0, Math.min(1, (step - outline.from) / span)) * (right - left);
  const size = spaced > 26 ? 9 : spaced > 15 ? 8 : spaced > 7 ? 5 : 3;
  const over = outline.bars.filter(([, , , to]) => to === null);
  const many = TOO_MANY.has(leads) && over.length > 0;
  const parts = [s("path", { class: "run-lane", d: (shown.length > 12 ? [] : shown).map((node) => `M${left} ${n(y(node))}H${n(right)}`).join("") })];
  if (many) {
    const [from, nodes] = [x(Math.max(...over.map(([, , begun]) => begun))), over.map(([node]) => y(node))];
    const [high, low] = [Math.min(...nodes) - size, Math.max(...nodes) + size];
    // Hatched by lines: a pattern would need a name of its own in every card.
    let hatch = "";
    const wide = right - from;
    for (let at = 6; at < wide + (low - high); at += 6) {
      const [down, along] = [Math.min(at, low - high), Math.min(at, wide)];
      hatch += `M${n(from + at - down)} ${n(high + down)}L${n(from + along)} ${n(high + at - along)}`;
    }
    parts.push(s("path", { class: "run-hatch", d: hatch }));
  }
  const wrong = ([, , , to], kind) => to === null && (kind === "bar" ? many : WAITING.has(leads));
  parts.push(...lines(outline, { x, y, end: right, wrong, ends: shown.length > 12 ? null : 5, cap: size / 2 }));
  if (leads !== "dearer") parts.push(s("path", { class: "run-end", d: `M${n(width - 6)} 8V${n(height - below - 8)}` }));
  if (spaced >= 9) parts.push(...shown.map((node) => s("text", { class: "run-node", x: left - 9, y: y(node) }, String(node))));
  if (steps) {
    const fits = (right - left) / span > 46;
    steps.forEach((step, index) => {
      const at = index + 1;
      if (at > outline.from && (fits || at === outline.to)) parts.push(s("text", { class: at === outline.to && leads !== "dearer" ? "run-step wrong" : "run-step", x: x(at), y: height - 10 }, step));
    });
  }
  const svg = s("svg", { class: "run", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, parts);
  svg.style.setProperty("--bar", `${size}px`);
  return svg;
}
