// Where nodes stand: on a ring, as a tree, or in a grid. Places depend on the setting and the room there is, never on the state.

import { places as ring } from "../draw/ring.js";

/** From so many nodes on labels appear on focus only, and from so many on nodes stand in a grid. */
export const [LABELS_UP_TO, RING_UP_TO] = [12, 24];

/** The radius of a node. */
export const radius = (count) => (count <= 8 ? 25 : count <= LABELS_UP_TO ? 21 : count <= RING_UP_TO ? 15 : 14);

function grid(count, width, height, r) {
  const columns = Math.max(1, Math.min(count, Math.round(Math.sqrt((count * width) / height))));
  const rows = Math.ceil(count / columns);
  const [dx, dy] = [(width - 2 * r - 40) / Math.max(1, columns - 1), (height - 2 * r - 40) / Math.max(1, rows - 1)];
  return Array.from({ length: count }, (_, index) => ({ x: r + 20 + (index % columns) * dx, y: r + 24 + Math.floor(index / columns) * dy }));
}

/** The neighbours in the tree, as the pointers of the first state give them. */
function neighbours(nodes) {
  const near = nodes.map(() => new Set());
  nodes.forEach((node, from) => {
    for (const { to } of [...node.pointers, ...node.ties]) if (to !== from && to < nodes.length) near[from].add(to) && near[to].add(from);
  });
  return near;
}

/** A tree from node 0 down; null if the first state is no tree. */
function tree(nodes, width, height, r) {
  const near = neighbours(nodes);
  const [depth, children, order] = [new Map([[0, 0]]), new Map(), [0]];
  for (const node of order) {
    const below = [...near[node]].filter((it) => !depth.has(it)).sort((a, b) => a - b);
    for (const it of below) depth.set(it, depth.get(node) + 1);
    children.set(node, below);
    order.push(...below);
  }
  if (order.length < nodes.length) return null;
  const deepest = Math.max(...depth.values(), 1);
  const leaves = nodes.map((_, node) => node).filter((node) => !children.get(node).length).length;
  const across = (width - 2 * r - 110) / Math.max(1, leaves - 1);
  const x = new Map();
  let next = 0;
  const place = (node) => {
    const below = children.get(node);
    below.forEach(place);
    x.set(node, below.length ? (x.get(below[0]) + x.get(below.at(-1))) / 2 : leaves === 1 ? width / 2 : r + 55 + next++ * across);
  };
  place(0);
  return nodes.map((_, node) => ({ x: x.get(node), y: r + 30 + (depth.get(node) / deepest) * (height - 2 * r - 64), tree: true }));
}

/** Places for all nodes, and the radius that they are drawn with. `first` is the state 0, for trees. */
export function placeNodes(count, shape, first, width, height) {
  const r = radius(count);
  const drawn = shape === "tree" && first && count <= 40 ? tree(first.nodes, width, height, r) : null;
  if (drawn) {
    const near = Math.min(...drawn.flatMap((a, index) => drawn.slice(index + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y))));
    return { r: Math.max(8, Math.min(r, near * 0.44)), at: drawn, shape: "tree" };
  }
  if (count > RING_UP_TO) return { r, at: grid(count, width, height, r), shape: "grid" };
  // Two stand side by side, and four at the corners: there is more room.
  const turned = { 2: -Math.PI / 2, 4: -Math.PI / 4 }[count] ?? 0;
  const margin = { x: Math.max(0, Math.min(56, (width - 300) / 2 + 26)), y: count > LABELS_UP_TO ? 14 : 28 };
  const tall = height / 2 - r - margin.y;
  margin.x = Math.max(margin.x, width / 2 - r - Math.max(1.45 * tall, 185));
  if (!turned) return { r, at: ring(count, width, height, r, margin), shape: "ring" };
  const [cx, cy, wide] = [width / 2, height / 2, width / 2 - r - margin.x];
  const at = Array.from({ length: count }, (_, index) => (index / count) * 2 * Math.PI - Math.PI / 2 + turned);
  return { r, at: at.map((angle) => ({ x: cx + wide * Math.cos(angle), y: cy + tall * Math.sin(angle) })), shape: "ring" };
}

/** Where the label of a node stands: beside it at the top and the bottom, else outside the ring. */
export function labelPlace(at, r, width, height, many) {
  const [cx, cy] = [width / 2, height / 2];
  // Where nodes stand close, there is room at their outer side only.
  if (many && !at.tree && Math.abs(Math.cos(at.angle ?? 0)) > 0.6) return { x: Math.sign(at.x - cx) * (r + 6), y: 7, anchor: at.x > cx ? "start" : "end" };
  if (at.tree) return { x: 0, y: r + 13, anchor: "middle" };
  if (Math.abs(at.x - cx) < 4) return at.y <= cy ? { x: -r - 7, y: -r * 0.55, anchor: "end" } : { x: r + 7, y: r * 0.55, anchor: "start" };
  return { x: 0, y: at.y < cy - 2 ? -r - 13 : r + 13, anchor: "middle" };
}
