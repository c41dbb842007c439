// Where the tokens of a name are: nodes on their ring, tokens on the shoulders of nodes, the queue of each as beads, and a line
// from every waiting node to the node that will send it the token.

import { fill, h, s } from "../dom.js";
import { colour } from "../draw/marks.js";
import { arc, head, label, places } from "../draw/ring.js";
import { address } from "../router.js";
import { count, who } from "../words.js";
import { health } from "./nodes.js";

const [WIDTH, HEIGHT] = [560, 348];
const R = 25;
/** So many nodes are drawn: those that have to do with the name come first. */
const MOST = 16;
const BEADS = 5;

/** A token and its queue, beside its node. */
function token({ slot, next }, at, busy, index) {
  const [dx, dy] = [at.x >= WIDTH / 2 - 1 ? 1 : -1, at.y > HEIGHT / 2 + 20 ? 1 : -1];
  // On the edge of the node; further ones towards its middle, away from the label below.
  const off = dy * (R - 6 - index * 23);
  const [x, y] = [at.x + dx * (Math.sqrt(Math.max(0, R * R - off * off)) + 4), at.y + off];
  const beads = next.slice(0, BEADS);
  const tone = colour(slot);
  const step = 24;
  const more = next.length - beads.length;
  return s(
    "g",
    { class: `token ${tone} ${busy ? "busy" : "idle"}` },
    beads.length > 0 && s("line", { class: "thread", x1: x, y1: y, x2: x + dx * (6 + beads.length * step), y2: y }),
    s("circle", { class: "slice", cx: x, cy: y, r: 12 }),
    s("circle", { class: "inner", cx: x, cy: y, r: 8.5 }),
    s("text", { x, y }, String(slot)),
    beads.map((node, place) => [s("circle", { class: "bead", cx: x + dx * (6 + (place + 1) * step), cy: y, r: 9.5 }), s("text", { class: "bead-text", x: x + dx * (6 + (place + 1) * step), y }, String(node))]),
    more > 0 && s("text", { class: "beyond", x: x + dx * (6 + (beads.length + 1) * step), y }, `+ ${count(more)}`),
  );
}

const words = (clients, home, node) => {
  const holds = clients.filter((client) => client.state === "holds");
  const waits = clients.filter((client) => client.state === "waits").length;
  const first = holds.length === 1 ? who(holds[0].label).name : holds.length ? `${count(holds.length)} hold` : "";
  return [first.length > 24 ? `${first.slice(0, 23)}…` : first, waits ? `${count(waits)} ${waits === 1 ? "waits" : "wait"}` : "", home === node ? "home" : ""].filter(Boolean).join(", ");
};

export class Graph {
  #drawn = "";

  constructor() {
    this.svg = s("svg", { class: "graph", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Where the tokens are" });
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Which slot" });
    this.chosen = null;
    this.element = h("section", { class: "panel where", "aria-labelledby": "where-title" }, h("div", { class: "bar" }, h("h2", { id: "where-title" }, "Where the tokens are"), h("p", { class: "quiet" }, "beads: the next nodes"), this.chips), this.svg, this.legend);
  }

  update(nodes, lock) {
    if (!nodes || !lock) return;
    const key = JSON.stringify([nodes.map((node) => node.node), lock.tokens, lock.home, this.chosen, lock.clients.map((client) => [client.node, client.state, client.slot, client.label?.words]), nodes.map(health), lock.no_answer]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const involved = new Set([...lock.tokens.flatMap((it) => [it.node, ...it.next]), ...lock.clients.map((client) => client.node), lock.home]);
    const shown = nodes.length <= MOST ? nodes : [...nodes].sort((a, b) => involved.has(b.node) - involved.has(a.node) || a.node - b.node).slice(0, MOST).sort((a, b) => a.node - b.node);
    const at = places(shown.length, WIDTH, HEIGHT - 18, R, { x: shown.length > 2 ? 96 : 130, y: 12 });
    const where = new Map(shown.map((node, index) => [node.node, at[index]]));
    const tokens = lock.tokens.filter((it) => this.chosen === null || it.slot === this.chosen);
    const held = new Set(lock.clients.filter((client) => client.state === "holds").map((client) => client.slot));
    const lines = tokens.flatMap((it, order) => it.next.map((node) => this.#line(where.get(node), where.get(it.node), it.slot, order))).filter(Boolean);
    fill(this.svg, lines, shown.map((node, index) => this.#node(node, at[index], lock, tokens)), this.#tokens(tokens, where, held));
    this.#choices(lock.tokens);
    const slots = tokens.slice(0, 4).filter((it) => it.next.length);
    fill(this.legend, slots.flatMap((it) => [s("svg", { width: 26, height: 8, class: `key-line ${colour(it.slot)}` }, s("path", { class: `line ${colour(it.slot)}`, d: "M1 4H25" })), h("span", {}, `waits for ${lock.tokens.length > 1 ? `slot ${it.slot}` : "the token"}`)]), nodes.length > shown.length ? h("span", {}, `${count(nodes.length - shown.length)} other nodes have nothing to do with it`) : null);
  }

  #line(from, to, slot, order) {
    if (!from || !to || from === to) return null;
    const curve = arc(from, to, { bend: 0.1 + 0.07 * (order % 3), gap: [R + 3, R + 6] });
    return s("g", {}, s("path", { class: `line ${colour(slot)}`, d: curve.d }), head(curve, colour(slot)));
  }

  #node(node, at, lock, tokens) {
    const here = lock.clients.filter((client) => client.node === node.node);
    const holder = here.find((client) => client.state === "holds" && (this.chosen === null || client.slot === this.chosen));
    const waits = here.some((client) => client.state === "waits");
    const queued = tokens.find((it) => it.next.includes(node.node));
    const silent = lock.no_answer.includes(node.node) || health(node) === "out";
    const kind = silent ? "silent" : holder ? `in ${colour(holder.slot)}` : waits ? `waits ${colour(queued?.slot)}` : "out";
    const text = silent ? "no answer" : words(here, lock.home, node.node);
    return s("a", { class: `spot ${kind}`, href: address(`node/${node.node}`), transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`, "aria-label": `node ${node.node}${text ? `, ${text}` : ", has nothing to do with it"}` }, s("circle", { class: "disc", r: R }), s("text", { class: "number" }, String(node.node)), " ", label(0, R + 18, text, holder ? "strong" : ""));
  }

  #tokens(tokens, where, held) {
    const stacked = new Map();
    return tokens.map((it) => {
      const place = where.get(it.node);
      const index = stacked.get(it.node) ?? 0;
      stacked.set(it.node, index + 1);
      return place && index < 3 ? token(it, place, held.has(it.slot), index) : null;
    });
  }

  #choices(tokens) {
    const key = tokens.map((it) => it.slot).join();
    if (this.chips.dataset.key === `${key}/${this.chosen}`) return;
    this.chips.dataset.key = `${key}/${this.chosen}`;
    const chip = (slot, text) => h("button", { class: "chip", "aria-pressed": this.chosen === slot, onclick: () => { this.chosen = slot; this.redraw?.(); } }, text);
    fill(this.chips, tokens.length > 1 && tokens.length <= 6 ? [chip(null, "All"), tokens.map((it) => chip(it.slot, String(it.slot)))] : []);
  }
}
