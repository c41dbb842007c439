// The nodes on their ring: what is left of each lease, what is held and waited for, and tokens that have just moved.

import { fill, h, keyed, s, say, set, still } from "../dom.js";
import { arc, head, label, part, places } from "../draw/ring.js";
import { address } from "../router.js";
import { chosen, count, lasted, many } from "../words.js";
import { live } from "./model.js";

const [WIDTH, HEIGHT] = [348, 296];
/** From here on labels are shown on focus only. */
const CROWD = 13;
/** From here on nodes stand in a grid. */
const GRID = 25;
const MOST_FLIGHTS = 3;
const MOST_DOTS = 7;

/** What each node holds and waits for, counted over all names. */
export function loads() {
  const all = new Map();
  for (const entry of live.names.values()) {
    for (const client of entry.clients) {
      const load = all.get(client.node) ?? { holds: 0, waits: 0 };
      load[client.state] += 1;
      all.set(client.node, load);
    }
  }
  return all;
}

/** How a node is doing: "out" without an answer, "lapsed" without a lease, else "well". */
export function health(node) {
  if (!node.answered || node.unreachable_ms !== null) return "out";
  return node.lease_left_ms > 0 ? "well" : "lapsed";
}

/** The sentence of a node, for screen readers and for its label. */
export function words(node, load, leader) {
  const state = health(node);
  if (state === "out") return node.member ? `no answer${node.unreachable_ms ? ` for ${lasted(node.unreachable_ms)}` : ""}` : "not a member";
  if (state === "lapsed") return "no lease: grants nothing";
  const waits = load.waits ? `, ${count(load.waits)} ${load.waits === 1 ? "waits" : "wait"}` : "";
  return `${load.holds || !load.waits ? `holds ${count(load.holds)}${waits}` : waits.slice(2)}${leader && node.node === leader.node ? `, leads view ${leader.view}` : ""}`;
}

const share = (node, lease) => (lease ? Math.min(1, node.lease_left_ms / lease) : 0);

export class Nodes {
  #drawn = "";
  #parts = new Map();
  #places = new Map();

  constructor() {
    this.chords = s("g", { class: "chords" });
    this.flights = s("g", { class: "flights" });
    this.nodes = s("g", { class: "nodes" });
    this.svg = s("svg", { class: "ring", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Nodes" }, this.chords, this.nodes, this.flights, (this.told = label(0, 0, "", "strong told")));
    for (const kind of ["focusin", "pointerover"]) this.svg.addEventListener(kind, (event) => this.#tell(event.target.closest?.("a.node")));
    for (const kind of ["focusout", "pointerleave"]) this.svg.addEventListener(kind, () => this.#tell(null));
    this.legend = h("p", { class: "legend", "aria-hidden": "true" }, h("span", { class: "key held" }), "held here", h("span", { class: "key waits" }), "waits here", h("span", { class: "key moved" }), "a token moved just now");
    this.element = h("section", { class: "panel nodes", "aria-labelledby": "nodes-title" }, h("div", { class: "bar" }, h("h2", { id: "nodes-title" }, "Nodes"), (this.about = h("p", { class: "quiet" }))), this.svg, this.legend);
    this.strip = h("div", { class: "strip", role: "group", "aria-label": "Nodes" });
    this.move = (event) => this.#fly(event.detail);
    live.addEventListener("move", this.move);
  }

  leave() {
    live.removeEventListener("move", this.move);
  }

  update() {
    const { cluster } = live;
    if (!cluster) return;
    const all = loads();
    const load = (node) => all.get(node.node) ?? { holds: 0, waits: 0 };
    const leader = cluster.leader === null ? null : { node: cluster.leader, view: cluster.view };
    const key = cluster.nodes.map((node) => node.node).join();
    if (key !== this.#drawn) this.#lay(cluster.nodes, key);
    const most = Math.max(1, ...cluster.nodes.map((node) => load(node).holds + load(node).waits));
    for (const node of cluster.nodes) this.#update(node, load(node), leader, cluster.lease_ms, most);
    keyed(this.strip, cluster.nodes, (node) => node.node, smallRing, (ring, node) => updateSmall(ring, node, words(node, load(node), leader), cluster.lease_ms));
  }

  #lay(nodes, key) {
    this.#drawn = key;
    this.#parts.clear();
    const n = nodes.length;
    const radius = n <= 6 ? 31 : n <= 8 ? 26 : n < CROWD ? 21 : 15;
    const grid = n >= GRID;
    const columns = Math.ceil(Math.sqrt((n * WIDTH) / HEIGHT));
    const cell = Math.min(WIDTH / columns, HEIGHT / Math.ceil(n / columns));
    const at = grid
      ? nodes.map((_, index) => ({ x: (index % columns) * cell + cell / 2, y: Math.floor(index / columns) * cell + cell / 2 }))
      : places(n, WIDTH, HEIGHT - (n < CROWD ? 16 : 0), radius + 3, { x: n < CROWD ? 34 : 8, y: 4 });
    this.#places = new Map(nodes.map((node, index) => [node.node, at[index]]));
    const r = grid ? Math.max(4, cell * 0.38) : radius;
    fill(this.chords, n <= 8 ? at.flatMap((from, index) => at.slice(index + 1).map((to) => s("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y }))) : []);
    fill(this.nodes, nodes.map((node, index) => this.#make(node, at[index], r, { grid, top: index === 0 && n > 1, labelled: n < CROWD })));
    this.radius = r;
    this.svg.classList.toggle("grid", grid);
    this.legend.hidden = grid;
    say(this.about, grid ? "filled: what is held and waited for" : "rings: what is left of their leases");
    this.strip.classList.toggle("many", n >= CROWD);
  }

  /** In a crowd there is room for one label only: that of the node with the focus or the pointer, above or below it. */
  #tell(group) {
    const node = [...this.#parts].find(([, parts]) => parts.group === group)?.[0];
    this.telling = this.#parts.size >= CROWD ? node : undefined;
    if (this.telling === undefined) return say(this.told, "");
    const { x, y } = this.#places.get(node);
    const side = x < 110 ? "start" : x > WIDTH - 110 ? "end" : "middle";
    set(this.told, { x: side === "start" ? x - this.radius : side === "end" ? x + this.radius : x, y: y < HEIGHT / 2 ? y + this.radius + 12 : y - this.radius - 12, "text-anchor": side });
    say(this.told, group.getAttribute("aria-label"));
  }

  #make(node, at, r, { grid, top, labelled }) {
    const parts = {
      lease: s("circle", { class: "lease", r }),
      dots: s("g", { class: "dots" }),
      label: label(top ? r + 14 : 0, top ? -2 : r + 17, "", top ? "beside" : ""),
      leads: label(top ? r + 14 : 0, top ? 14 : r + 31, "", `strong ${top ? "beside" : ""}`),
      edge: s("circle", { class: "edge", r: grid ? r : r - 5 }),
      r,
      grid,
    };
    const number = s("text", { class: "number", y: grid ? 0 : r > 24 ? -4 : 1 }, String(node.node));
    const rings = grid ? [parts.edge] : [s("circle", { class: "track", r }), parts.lease, parts.edge];
    parts.group = s("a", { class: "node", href: address(`node/${node.node}`), transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})` }, rings, grid && r < 10 ? null : number, " ", grid || r <= 24 ? null : parts.dots, labelled ? s("g", { class: "said" }, parts.label, " ", parts.leads) : null);
    this.#parts.set(node.node, parts);
    return parts.group;
  }

  #update(node, load, leader, lease, most) {
    const parts = this.#parts.get(node.node);
    const leads = leader?.node === node.node;
    const text = words(node, load, null);
    const state = health(node);
    const dark = parts.grid && (load.holds + load.waits) / most > 0.5;
    set(parts.group, { class: `node ${state}${dark ? " full" : ""}`, "aria-label": `node ${node.node}, ${words(node, load, leader)}` });
    say(parts.label, text);
    say(parts.leads, leads ? `leads view ${leader.view}` : "");
    if (parts.grid) return set(parts.edge, { "fill-opacity": (0.1 + (0.9 * (load.holds + load.waits)) / most).toFixed(2) });
    set(parts.lease, part(parts.r, state === "out" ? 0 : share(node, lease)));
    const key = `${load.holds}/${load.waits}`;
    if (parts.key === key) return;
    parts.key = key;
    const waits = Math.min(load.waits, Math.max(MOST_DOTS - load.holds, Math.min(3, load.waits)));
    const holds = Math.min(load.holds, MOST_DOTS - waits);
    fill(parts.dots, Array.from({ length: holds + waits }, (_, at) => s("circle", { class: at < holds ? "held" : "waits", r: 1.9, cx: (at - (holds + waits - 1) / 2) * 5.6, cy: 11 })));
  }

  /** Whether the name on a flight would cover another one, a node or its label. */
  #covers(flight) {
    const box = flight.querySelector("rect").getBoundingClientRect();
    const apart = (it) => it.right < box.left || it.left > box.right || it.bottom < box.top || it.top > box.bottom;
    return [...this.svg.querySelectorAll("a.node, .flight rect")].some((it) => !flight.contains(it) && !apart(it.getBoundingClientRect()));
  }

  /** A token moved: its way is drawn once, and fades. */
  #fly({ name, from, to }) {
    const [begin, end] = [this.#places.get(from), this.#places.get(to)];
    if (!begin || !end || this.svg.classList.contains("grid") || this.svg.clientWidth === 0) return;
    if (still()) {
      for (const node of [from, to]) {
        const { group } = this.#parts.get(node);
        group.classList.add("changed");
        setTimeout(() => group.classList.remove("changed"), 1200);
      }
      return;
    }
    const same = [...this.flights.children].some((flight) => flight.dataset.name === name);
    if (same || this.flights.childElementCount >= MOST_FLIGHTS) return;
    const curve = arc(begin, end, { bend: 0.05, gap: [this.radius + 5, this.radius + 8] });
    const short = name.length > 18 ? `${name.slice(0, 17)}…` : name;
    const wide = short.length * 6.2 + 16;
    const { x, y } = curve.middle;
    // Between neighbours there is no room for a name: the events have it.
    const far = Math.hypot(end.x - begin.x, end.y - begin.y);
    const room = far - 2 * this.radius > 26 + (wide * Math.abs(end.x - begin.x)) / far;
    const told = room && [s("rect", { x: x - wide / 2, y: y - 10, width: wide, height: 20, rx: 10 }), s("text", { x, y: y + 0.5 }, short)];
    const flight = s("g", { class: "flight", "data-name": name }, s("path", { class: "way", d: curve.d, pathLength: 1 }), head(curve, "pine"), told);
    this.flights.append(flight);
    if (told && this.#covers(flight)) for (const part of told) part.remove();
    setTimeout(() => flight.remove(), 2600);
  }
}

function smallRing(node) {
  const lease = s("circle", { class: "lease", r: 16 });
  const ring = h("a", { class: "small-ring", href: address(`node/${node.node}`) }, s("svg", { viewBox: "-19 -19 38 38", width: 38, height: 38, "aria-hidden": "true" }, s("circle", { class: "track", r: 16 }), lease, s("text", { class: "number" }, String(node.node))));
  ring.lease = lease;
  return ring;
}

function updateSmall(ring, node, text, lease) {
  set(ring, { class: `small-ring ${health(node)}`, "aria-label": `node ${node.node}, ${text}`, title: `node ${node.node}, ${text}` });
  set(ring.lease, part(16, health(node) === "out" ? 0 : share(node, lease)));
}

/** The line below the name of the cluster. */
export function summary(cluster) {
  const out = cluster.nodes.filter((node) => health(node) === "out").map((node) => node.node);
  const lapsed = cluster.nodes.filter((node) => health(node) === "lapsed").map((node) => node.node);
  const reach = out.length ? h("span", { class: "amber" }, `node ${out.slice(0, 5).join(", ")} out of reach`) : `${many(cluster.nodes.length, "node")}, all within reach`;
  const parts = [reach, `view ${cluster.view}`, cluster.leader === null ? h("span", { class: "amber" }, "no leader") : `node ${cluster.leader} leads`, `leases of ${chosen(cluster.lease_ms)}`];
  if (out.length) parts.unshift(many(cluster.nodes.length, "node"));
  if (lapsed.length) parts.push(h("span", { class: "amber" }, `node ${lapsed.slice(0, 5).join(", ")} without a lease`));
  return parts.flatMap((one, at) => (at ? [h("span", { class: "between", "aria-hidden": "true" }, "·"), one] : [one]));
}
