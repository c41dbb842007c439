// The marks of lists: form says the state, colour says the token, and a number says it again.

import { h } from "../dom.js";
import { count } from "../words.js";

/** Colours repeat from the seventh token on, and the number alone tells. */
export const colour = (token) => (token === null || token === undefined ? "pine" : `t${token % 6}`);

/** A filled disc: the node holds. A dashed ring: the node waits. `name` is what a screen reader says. */
export function disc(node, state, { token = null, name, title } = {}) {
  return h("span", { class: `disc ${state} ${colour(token)}`, title, role: name ? "img" : null, "aria-label": name }, String(node));
}

/** A slice of wood: a token, idle or in use. */
export function slice(token, busy, name) {
  return h("span", { class: `slice ${busy ? "busy" : "idle"} ${colour(token)}`, role: name ? "img" : null, "aria-label": name }, h("span", {}, String(token)));
}

/** A free slot. */
export const free = () => h("span", { class: "disc free", "aria-hidden": "true" });

const MOST_DISCS = 6;

/** Nodes in their order, the first six, and how many more there are. */
export function discs(nodes, state, word, more = MOST_DISCS) {
  const shown = nodes.slice(0, nodes.length > more ? more : nodes.length);
  const rest = nodes.length - shown.length;
  return [
    ...shown.map((node) => h("span", { class: `disc ${state} pine`, "aria-hidden": "true" }, String(node))),
    rest > 0 && h("span", { class: "more", "aria-hidden": "true" }, `+ ${count(rest)} ${word}`),
  ];
}
