// Where the tokens of a name are: nodes on their ring, tokens on the shoulders of nodes, the queue of each as beads, a line from
// every waiting node to the node that will send it the token, and thin ones for pointers: where a request would be sent.

import { fill, h, keyed, s, set, still } from "../dom.js";
import { colour } from "../draw/marks.js";
import { arc, head, label, places } from "../draw/ring.js";
import { address } from "../router.js";
import { count, who } from "../words.js";
import { health } from "./nodes.js";
import { place, tabled } from "./tables.js";

/** The room for the picture: its size, how far the ring stays from the sides, how many beads fit, and letters of a label. */
const WIDE = { width: 560, height: 348, aside: 96, beads: 5, letters: 24 };
const SMALL = { width: 366, height: 430, aside: 74, beads: 1, letters: 15 };
const small = matchMedia("(max-width: 699px)");
const R = 25;
/** So many nodes are drawn: those that have to do with the name come first. */
const MOST = 16;
/** From here on labels are shown on focus only. */
const CROWD = 13;
/** So many tokens are drawn at a node, and the pointers of so many slots: the table has all. */
const TOKENS = 3;
const SLOTS = 6;
const WAYS = 48;

/** Whether a node is in the lower part: there labels and tokens are below it. */
const low = (at, room) => at.y > room.height / 2 + 20;

/** A token and its queue, beside its node; in a crowd, on the far side of the ring. */
function token({ slot, next }, at, busy, index, { radius: r, crowded, room }) {
  const [dx, dy] = [at.x >= room.width / 2 - 1 ? 1 : -1, low(at, room) ? 1 : -1];
  // On the edge of the node; further ones towards its middle, away from the label below.
  const off = dy * (r - 6 - index * 23);
  const turn = at.angle + (index === 0 ? 0 : index === 1 ? 0.9 : -0.9);
  const place = crowded ? { x: at.x + (r + 2) * Math.cos(turn), y: at.y + (r + 2) * Math.sin(turn) } : { x: at.x + dx * (Math.sqrt(Math.max(0, r * r - off * off)) + 4), y: at.y + off };
  const [ux, uy] = crowded ? [Math.cos(turn), Math.sin(turn)] : [dx, 0];
  const along = (by) => ({ x: place.x + ux * by, y: place.y + uy * by });
  const beads = next.slice(0, crowded ? 1 : room.beads);
  const tone = colour(slot);
  const step = crowded ? 22 : 24;
  const lead = crowded ? 0 : 6;
  const more = next.length - beads.length;
  const end = along(lead + beads.length * step);
  return s(
    "g",
    { class: `token ${tone} ${busy ? "busy" : "idle"}` },
    beads.length > 0 && s("line", { class: "thread", x1: place.x, y1: place.y, x2: end.x, y2: end.y }),
    s("circle", { class: "slice", cx: place.x, cy: place.y, r: crowded ? 10.5 : 12 }),
    s("circle", { class: "inner", cx: place.x, cy: place.y, r: crowded ? 7.5 : 8.5 }),
    s("text", place, String(slot)),
    beads.map((node, at) => {
      const { x, y } = along(lead + (at + 1) * step);
      return [s("circle", { class: "bead", cx: x, cy: y, r: 9.5 }), s("text", { class: "bead-text", x, y }, String(node))];
    }),
    more > 0 && s("text", { class: "beyond", ...along(lead + (beads.length + 1) * step) }, `+ ${count(more)}`),
  );
}

/** What does not fit on the shoulder of a node. */
function beyond(at, more, { radius: r, room }) {
  const side = at.x >= room.width / 2 - 1 ? 1 : -1;
  return s("text", { class: `label beyond-tokens ${side > 0 ? "right" : "left"}`, x: at.x + side * (r + 12), y: at.y + (low(at, room) ? -1 : 1) * (r + 8) }, `+ ${count(more)} ${more === 1 ? "token" : "tokens"}`);
}

/** Pointers of one slot in words: those that lead to the same node together, as "0–6, 9 → 3". */
function ways(pointers) {
  const to = new Map();
  for (const it of pointers) to.set(it.to, [...(to.get(it.to) ?? []), it.from]);
  const ranges = (nodes) => nodes.reduce((all, node) => (all.at(-1)?.[1] === node - 1 ? ((all.at(-1)[1] = node), all) : [...all, [node, node]]), []);
  const texts = [...to].map(([node, from]) => `${ranges(from).map(([a, b]) => (a === b ? a : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`)).join(", ")} → ${node}`);
  return texts.join("; ") || "–";
}

/** A pointer, before it has a place. */
const way = ({ slot }) => s("g", { class: "way" }, s("path", { class: `path ${colour(slot)}` }), s("path", { class: `head ${colour(slot)}`, d: "M-7 -3.4L1 0L-7 3.4Z" }));

const words = (clients, home, node, letters) => {
  const holds = clients.filter((client) => client.state === "holds");
  const waits = clients.filter((client) => client.state === "waits").length;
  const first = holds.length === 1 ? who(holds[0].label).name : holds.length ? `${count(holds.length)} hold` : "";
  return [first.length > letters ? `${first.slice(0, letters - 1)}…` : first, waits ? `${count(waits)} ${waits === 1 ? "waits" : "wait"}` : "", home === node ? "home" : ""].filter(Boolean).join(", ");
};

export class Graph {
  #drawn = "";

  constructor() {
    this.svg = s("svg", { class: "graph", role: "group", "aria-label": "Where the tokens are" });
    this.ways = s("g", { class: "ways", "aria-hidden": "true" });
    this.asks = s("g", { "aria-hidden": "true" });
    this.spots = s("g", {});
    this.tokens = s("g", { "aria-hidden": "true" });
    this.svg.append(this.ways, this.asks, this.spots, this.tokens);
    this.table = place("Where the tokens are");
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Which slot" });
    this.chosen = null;
    this.element = h("section", { class: "panel where", "aria-labelledby": "where-title" }, h("div", { class: "bar" }, h("h2", { id: "where-title" }, "Where the tokens are"), h("p", { class: "quiet" }, "beads: the next nodes"), this.chips), this.svg, this.table.element, this.legend);
  }

  update(nodes, lock) {
    if (!nodes || !lock) return;
    const pointers = lock.pointers ?? [];
    const key = JSON.stringify([tabled(), small.matches, nodes.map((node) => node.node), lock.tokens, pointers, lock.home, this.chosen, lock.clients.map((client) => [client.node, client.state, client.slot, client.label?.words]), nodes.map(health), lock.no_answer]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.room = small.matches ? SMALL : WIDE;
    set(this.svg, { viewBox: `0 0 ${this.room.width} ${this.room.height}` });
    this.svg.toggleAttribute("hidden", tabled());
    this.#choices(lock.tokens);
    const tokens = lock.tokens.filter((it) => this.chosen === null || it.slot === this.chosen);
    this.#tabulate(tokens, pointers);
    // The home and the tokens first, then those that get them next, then all others that have a part in it.
    const [first, next, others] = [lock.tokens.map((it) => it.node), lock.tokens.map((it) => it.next[0]), [...lock.tokens.flatMap((it) => it.next), ...lock.clients.map((client) => client.node), ...pointers.flatMap((it) => [it.from, it.to]), lock.home]].map((some) => new Set(some));
    const part = (node) => (node === lock.home ? 4 : first.has(node) ? 3 : next.has(node) ? 2 : Number(others.has(node)));
    const shown = nodes.length <= MOST ? nodes : [...nodes].sort((a, b) => part(b.node) - part(a.node) || a.node - b.node).slice(0, MOST).sort((a, b) => a.node - b.node);
    this.crowded = shown.length >= CROWD;
    this.radius = this.crowded ? 17 : shown.length > 8 ? 20 : R;
    const at = places(shown.length, this.room.width, this.room.height - 18, this.radius, { x: this.crowded ? this.room.aside - 20 : this.room.aside, y: this.crowded ? 44 : 12 });
    const where = new Map(shown.map((node, index) => [node.node, at[index]]));
    const held = new Set(lock.clients.filter((client) => client.state === "holds").map((client) => client.slot));
    const waits = new Set(tokens.flatMap((it) => it.next.map((node) => `${it.slot}/${node}`)));
    // A node that waits for a token has no pointer to it: its request is drawn instead.
    const here = pointers.filter((it) => !waits.has(`${it.slot}/${it.from}`) && where.has(it.from) && where.has(it.to));
    const drawn = tokens.slice(0, SLOTS);
    let ways = here.filter((it) => drawn.some(({ slot }) => slot === it.slot));
    while (ways.length > WAYS && drawn.length > 1) {
      const { slot } = drawn.pop();
      ways = ways.filter((it) => it.slot !== slot);
    }
    const order = new Map(drawn.map((it, index) => [it.slot, index]));
    keyed(this.ways, ways, (it) => `${it.slot}/${it.from}/${shown.length}/${this.room.width}`, (it) => way(it), (element, it) => this.#way(element, it, where, order.get(it.slot)));
    fill(this.asks, drawn.flatMap((it, index) => it.next.map((node) => this.#line(where.get(node), where.get(it.node), it.slot, index))).filter(Boolean));
    fill(this.spots, shown.map((node, index) => this.#node(node, at[index], lock, tokens)));
    fill(this.tokens, this.#tokens(tokens, where, held));
    this.#explain(nodes.length - shown.length, tokens, ways, lock, drawn.length);
  }

  #explain(others, tokens, ways, lock, lined) {
    const line = (kind, slot) => s("svg", { width: 26, height: 8, class: `key-line ${colour(slot)}` }, s("path", { class: `${kind} ${colour(slot)}`, d: "M1 4H25" }));
    const slots = tokens.filter((it) => ways.some((way) => way.slot === it.slot)).slice(0, 4);
    const waiting = tokens.find((it) => it.next.length);
    const many = tokens.length > lined ? `lines of ${count(lined)} of ${count(tokens.length)} slots: choose one` : "";
    this.legend.hidden = tabled();
    fill(
      this.legend,
      slots.map((it) => h("span", { class: "key-of" }, line("path", it.slot), `way to ${lock.tokens.length > 1 ? `slot ${it.slot}` : "the token"}`)),
      waiting && h("span", { class: "key-of" }, line("line", waiting.slot), "waits for it"),
      lock.home !== null && lock.tokens.length > 0 && h("span", {}, `without a line: would ask the home, node ${lock.home}`),
      others > 0 && h("span", {}, `${count(others)} other nodes are not drawn`),
      many && h("span", {}, many),
    );
  }

  #tabulate(tokens, pointers) {
    const rows = tokens.map((it) => [String(it.slot), String(it.node), it.next.join(", ") || "–", ways(pointers.filter((way) => way.slot === it.slot))]);
    this.table.update(["slot", "token at node", "next nodes", "pointers"], rows);
  }

  /** A pointer swings to its new node; without motion it is marked for a moment. */
  #way(element, { slot, from, to }, where, order) {
    const curve = arc(where.get(from), where.get(to), { bend: 0.1 + 0.07 * (order % 3), gap: [this.radius + 3, this.radius + 6] });
    const changed = element.to !== undefined && element.to !== to;
    element.to = to;
    set(element.firstChild, { d: curve.d });
    set(element.lastChild, { transform: head(curve, colour(slot)).getAttribute("transform") });
    if (!changed || !still()) return;
    element.classList.add("changed");
    setTimeout(() => element.classList.remove("changed"), 1200);
  }

  #line(from, to, slot, order) {
    if (!from || !to || from === to) return null;
    const curve = arc(from, to, { bend: 0.1 + 0.07 * (order % 3), gap: [this.radius + 3, this.radius + 6] });
    return s("g", {}, s("path", { class: `line ${colour(slot)}`, d: curve.d }), head(curve, colour(slot)));
  }

  #node(node, at, lock, tokens) {
    const here = lock.clients.filter((client) => client.node === node.node);
    const holder = here.find((client) => client.state === "holds" && (this.chosen === null || client.slot === this.chosen));
    const waits = here.some((client) => client.state === "waits");
    const queued = tokens.find((it) => it.next.includes(node.node));
    const silent = lock.no_answer.includes(node.node) || health(node) === "out";
    const kind = silent ? "silent" : holder ? `in ${colour(holder.slot)}` : waits ? `waits ${colour(queued?.slot)}` : "out";
    const text = silent ? "no answer" : words(here, lock.home, node.node, this.room.letters);
    return s("a", { class: `spot ${kind}`, href: address(`node/${node.node}`), transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`, "aria-label": `node ${node.node}${text ? `, ${text}` : ", has nothing to do with it"}` }, s("circle", { class: "disc", r: this.radius }), s("text", { class: "number" }, String(node.node)), " ", this.#label(at, text, holder ? "strong" : ""));
  }

  /** Labels stand outside the ring: beside the node at the top, whose tokens are on its right, above the upper ones, below the others. */
  #label(at, text, kind) {
    const r = this.radius;
    if (this.crowded) return label(0, low(at, this.room) ? r + 14 : -r - 10, text, `${kind} on-focus`);
    if (at.y < this.room.height / 3 && Math.abs(at.x - this.room.width / 2) < 2) return label(-r - 9, 0, text, `${kind} left`);
    return label(0, low(at, this.room) ? r + 18 : -r - 14, text, kind);
  }

  #tokens(tokens, where, held) {
    const stacked = new Map();
    return tokens.map((it) => {
      const place = where.get(it.node);
      const index = stacked.get(it.node) ?? 0;
      stacked.set(it.node, index + 1);
      return place && index < TOKENS ? token(it, place, held.has(it.slot), index, this) : null;
    }).concat([...stacked].filter(([node, all]) => all > TOKENS && where.has(node)).map(([node, all]) => beyond(where.get(node), all - TOKENS, this)));
  }

  #choices(tokens) {
    const key = tokens.map((it) => it.slot).join();
    if (this.chips.dataset.key === `${key}/${this.chosen}`) return;
    this.chips.dataset.key = `${key}/${this.chosen}`;
    const chip = (slot, text) => h("button", { class: "chip", "aria-pressed": this.chosen === slot, onclick: () => { this.chosen = slot; this.redraw?.(); } }, text);
    if (tokens.length <= SLOTS) return fill(this.chips, tokens.length > 1 ? [chip(null, "All"), tokens.map((it) => chip(it.slot, String(it.slot)))] : []);
    const choice = h("select", { "aria-label": "Which slot", onchange: () => { this.chosen = choice.value === "" ? null : Number(choice.value); this.redraw?.(); } }, h("option", { value: "" }, "all slots"), tokens.slice(0, 256).map((it) => h("option", { value: it.slot, selected: it.slot === this.chosen }, `slot ${it.slot}`)));
    fill(this.chips, choice);
  }
}
