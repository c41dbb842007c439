// One moment of a run, drawn small: nodes on their ring, tokens on their shoulders, ways to tokens, messages under way.

import { fill, s } from "../dom.js";
import { colour } from "../draw/marks.js";
import { arc, places } from "../draw/ring.js";
import { toneClass } from "../play/looks.js";
import { count, many } from "../words.js";

const [WIDTH, HEIGHT] = [320, 250];
/** More messages than this are counted, not drawn: nothing could be seen any more. */
const MOST = 90;

const n = (value) => value.toFixed(1);

/** The head of an arc as a part of a path. */
function headOf({ end, angle }, size) {
  const at = (turn, far) => `${n(end.x + Math.cos(angle + turn) * far)} ${n(end.y + Math.sin(angle + turn) * far)}`;
  return `M${at(0, 0.5)}L${at(2.73, size)}L${at(-2.73, size)}Z`;
}

/** A binary tree by numbers, for the algorithms that have one. */
function tree(size, r) {
  const deepest = Math.floor(Math.log2(size));
  return Array.from({ length: size }, (_, node) => {
    const depth = Math.floor(Math.log2(node + 1));
    const first = 2 ** depth - 1;
    return { x: ((node - first + 0.5) / 2 ** depth) * WIDTH, y: r + 14 + (depth / Math.max(1, deepest)) * (HEIGHT - 2 * r - 28) };
  });
}

const list = (nodes) => (nodes.length > 8 ? many(nodes.length, "node") : nodes.join(", "));

export class Scene {
  constructor() {
    this.svg = s("svg", { class: "scene", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Not run yet" });
  }

  update(scene, entry) {
    const size = scene.nodes.length;
    const r = size <= 10 ? 17 : size <= 16 ? 13 : size <= 24 ? 10 : 8;
    const at = entry?.shape === "tree" ? tree(size, r) : places(size, WIDTH, HEIGHT, r, { x: 26, y: 12 });
    const [paths, marks] = [new Map(), []];
    const add = (kind, d) => paths.set(kind, (paths.get(kind) ?? "") + d);
    const bend = (token) => ((token ?? 0) % 2 ? -0.1 : 0.1);
    scene.nodes.forEach((node, from) => {
      for (const { to, token } of node.pointers) {
        if (to === from || !at[to]) continue;
        const curve = arc(at[from], at[to], { bend: bend(token), gap: [r + 1, r + 4] });
        add(`way ${colour(token)}`, curve.d);
        add(`way-head ${colour(token)}`, headOf(curve, 6));
      }
    });
    for (const message of scene.flight.slice(0, MOST)) {
      if (!at[message.from] || !at[message.to] || message.from === message.to) continue;
      const tone = colour(message.token ?? message.asks);
      const curve = arc(at[message.from], at[message.to], { bend: bend(message.token ?? message.asks) * 0.8, gap: [r + 1, r + 4] });
      const carries = message.token !== null;
      add(`sent ${carries ? "heavy " : ""}${tone}`, curve.d);
      add(`sent-head ${tone}`, headOf(curve, 7));
      const { x, y } = curve.middle;
      if (carries) marks.push(slice(message.token, x, y, 8));
      else if (message.asks !== null || message.origin !== null) marks.push(s("circle", { class: `asks ${tone}`, cx: n(x), cy: n(y), r: 4.5 }));
      else marks.push(s("circle", { class: `tells ${tone}`, cx: n(x), cy: n(y), r: 3.6 }));
    }
    const nodes = scene.nodes.map((node, index) => {
      const place = at[index];
      const held = node.tokens.slice(0, 3).map((token, order) => slice(token, place.x + (place.x < WIDTH / 2 ? -1 : 1) * r * 0.8, place.y - r * 0.75 + order * 13, r > 12 ? 7.5 : 6));
      return [s("g", { class: `small-node ${node.is} ${toneClass(entry, node)}`, transform: `translate(${n(place.x)} ${n(place.y)})` }, s("circle", { r }), r >= 10 && s("text", { "font-size": r > 12 ? 13 : 10 }, String(index))), held];
    });
    fill(this.svg, [...paths].map(([kind, d]) => s("path", { class: kind, d })), marks, nodes);
    const of = (state) => scene.nodes.flatMap((node, index) => (node.is === state ? [index] : []));
    const [inside, waits] = [of("inside"), of("waits")];
    this.svg.setAttribute("aria-label", `Inside: ${list(inside) || "none"}. Waiting: ${list(waits) || "none"}. Messages under way: ${count(scene.flight.length + scene.more_flight)}.`);
  }
}

/** A token: a slice of wood with its number. */
const slice = (token, x, y, r) => s("g", { class: `small-token ${colour(token)}`, transform: `translate(${n(x)} ${n(y)})` }, s("circle", { r: r + 1 }), s("circle", { class: "inner", r: r - 2 }), s("text", { "font-size": 9 }, String(token)));
