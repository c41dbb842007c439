// Where nodes stand, and the lines between them. Places depend on the number of nodes only, never on their state.

import { s } from "../dom.js";

/** Node 0 at the top, then clockwise. */
export function places(count, width, height, radius, margin = { x: 0, y: 0 }) {
  const [cx, cy] = [width / 2, height / 2];
  if (count === 1) return [{ x: cx, y: cy, angle: -Math.PI / 2 }];
  const [rx, ry] = [cx - radius - margin.x, cy - radius - margin.y];
  return Array.from({ length: count }, (_, index) => {
    const angle = (index / count) * 2 * Math.PI - Math.PI / 2;
    return { x: cx + rx * Math.cos(angle), y: cy + ry * Math.sin(angle), angle };
  });
}

const norm = (x, y) => Math.hypot(x, y) || 1;

/** An arc from the edge of one node to the edge of another, bent to one side of the chord. */
export function arc(from, to, { bend = 0.12, gap = [34, 38] } = {}) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = norm(dx, dy);
  const middle = { x: (from.x + to.x) / 2 - dy * bend, y: (from.y + to.y) / 2 + dx * bend };
  const cut = (end, by) => {
    const [ex, ey] = [middle.x - end.x, middle.y - end.y];
    const way = norm(ex, ey);
    return { x: end.x + (ex / way) * by, y: end.y + (ey / way) * by };
  };
  const [begin, end] = [cut(from, Math.min(gap[0], far / 3)), cut(to, Math.min(gap[1], far / 3))];
  const n = (value) => value.toFixed(1);
  return {
    d: `M${n(begin.x)} ${n(begin.y)}Q${n(middle.x)} ${n(middle.y)} ${n(end.x)} ${n(end.y)}`,
    begin,
    middle: { x: begin.x / 4 + middle.x / 2 + end.x / 4, y: begin.y / 4 + middle.y / 2 + end.y / 4 },
    end,
    angle: Math.atan2(end.y - middle.y, end.x - middle.x),
  };
}

/** The head of an arc, in the colour of its line, with a halo of the ground. */
export function head(curve, kind) {
  const turn = (curve.angle * 180) / Math.PI;
  return s("path", { class: `head ${kind}`, d: "M-9 -4.4L1 0L-9 4.4Z", transform: `translate(${curve.end.x.toFixed(1)} ${curve.end.y.toFixed(1)}) rotate(${turn.toFixed(1)})` });
}

/** A part of a circle, from the top clockwise: 1 is all of it. */
export function part(radius, share) {
  const around = 2 * Math.PI * radius;
  return { "stroke-dasharray": `${(around * Math.max(0, Math.min(1, share))).toFixed(1)} ${around.toFixed(1)}`, transform: "rotate(-90)" };
}

/** A text with a halo, in the middle of its place. */
export const label = (x, y, text, kind = "") => s("text", { class: `label ${kind}`, x, y }, text);
