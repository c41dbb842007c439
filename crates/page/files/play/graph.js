// The graph: nodes, tokens on their shoulders with their queues, the ways to the tokens, and messages on their arcs. Form says the
// state, colour says the token, a number and a dash say it again.

import { fill, h, keyed, s, set, still } from "../dom.js";
import { colour } from "../draw/marks.js";
import { arc, head } from "../draw/ring.js";
import { brief, does, numbered, toneClass, ways, wrong } from "./looks.js";
import { Motion, POINTER, REQUEST, TOKEN, glide, pace, swing } from "./motion.js";
import { LABELS_UP_TO, labelPlace, placeNodes } from "./places.js";

/** So many messages are drawn, and with words only as long as there is room for them. */
const [MOST_MESSAGES, MOST_WORDED] = [150, 8];
const BEADS = 6;
/** The width of a message without words. */
const DOT = 12;
/** From more nodes than this on, labels are short. */
const CLOSE = 8;
const between = (a, b, share) => ({ x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share });
const put = (element, { x, y }) => element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);

/** A point of an arc. */
function along(curve, share) {
  const control = { x: 2 * curve.middle.x - (curve.begin.x + curve.end.x) / 2, y: 2 * curve.middle.y - (curve.begin.y + curve.end.y) / 2 };
  return between(between(curve.begin, control, share), between(control, curve.end, share), share);
}

export class Graph {
  #motion = new Motion((moving) => this.svg.toggleAttribute("data-moving", moving));
  #shown = null;
  #size = [516, 384];
  #layout = null;
  #layoutKey = "";
  #only = null;
  #curves = new Map();
  #bends = new Map();
  #targets = new Map();

  /** `on` has what a reader can do: node(number), message(message, element), menu(message, element). */
  constructor(run, on) {
    [this.run, this.on] = [run, on];
    const group = (name) => s("g", { class: name });
    this.layers = Object.fromEntries(["wrong", "ties", "ways", "routes", "spots", "tokens", "messages"].map((name) => [name, group(name)]));
    const hatch = s("pattern", { id: "hatch-graph", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("line", { class: "hatch", y2: 7 }));
    this.svg = s("svg", { class: "graph", role: "group", "aria-label": "Nodes, tokens and messages" }, s("defs", {}, hatch), Object.values(this.layers));
    this.chips = h("div", { class: "chips" });
    this.legend = h("div", { class: "legend" });
    this.about = h("p", { class: "quiet" });
    this.element = h("section", { class: "panel forest", "aria-labelledby": "forest-title" }, h("div", { class: "bar" }, h("h2", { id: "forest-title" }, "Graph"), this.about, this.chips), this.svg, this.legend);
    this.observer = new ResizeObserver(() => this.#measure());
    this.observer.observe(this.svg);
  }

  leave() {
    this.observer.disconnect();
    this.#motion.finish();
  }

  /** The size of the picture is that of its place, so that type keeps its size; only large screens enlarge it. */
  #measure() {
    const { width, height } = this.svg.getBoundingClientRect();
    const zoom = this.svg.currentCSSZoom ?? 1;
    if (width < 40 || height < 40) return;
    const grow = Math.max(1, Math.min(width / zoom / 620, height / zoom / 440));
    const size = [Math.round(width / zoom / grow), Math.round(height / zoom / grow)];
    if (String(size) === String(this.#size)) return;
    this.#size = size;
    this.redraw();
  }

  redraw() {
    const state = this.#shown;
    this.#motion.finish();
    if (state) this.#draw(state, null);
  }

  /** Shows a state. What moved on the way from the one before flies, if there is time for it. */
  show(state) {
    const before = this.#shown;
    this.#motion.finish();
    if (before === state) return this.#draw(state, null);
    const next = before && state.at === before.at + 1 && this.run.steps[before.at] === state.step && before.nodes.length === state.nodes.length;
    this.#shown = state;
    const length = (it) => (it.token !== null ? TOKEN : REQUEST);
    const came = next && /^\d/.test(state.step) ? before.flight.find((it) => it.id === state.received) : null;
    const went = next ? state.flight.filter((it) => state.sent.includes(it.id)) : [];
    const whole = (came ? length(came) : 0) + Math.max(0, ...went.map(length)) || POINTER;
    const speed = next ? pace(this.run, whole) : null;
    if (speed === null) {
      this.#draw(state, null);
      if (next && still()) this.#mark(before, state);
      return;
    }
    const arrive = () => {
      this.#draw(state, speed);
      for (const it of went) this.#fly(it, 0, null, length(it) * speed);
    };
    if (came && this.#curves.has(came.id)) this.#fly(came, null, 1, length(came) * speed, arrive);
    else arrive();
  }

  /** Without motion, what changed has an outline for a moment. */
  #mark(before, state) {
    const changed = state.nodes.map((node, number) => JSON.stringify(node) !== JSON.stringify(before.nodes[number]));
    const spots = [...this.layers.spots.children].filter((_, number) => changed[number]);
    for (const spot of spots) spot.classList.add("changed");
    setTimeout(() => spots.forEach((spot) => spot.classList.remove("changed")), 1200);
  }

  #fly(message, from, to, ms, done) {
    const element = this.layers.messages.keyed?.get(message.id);
    const place = this.#curves.get(message.id);
    if (!element || !place) return done?.();
    const [begin, end] = [from ?? place.share, to ?? place.share];
    this.#motion.start(ms, glide, (share) => put(element, along(place.curve, begin + (end - begin) * share)), done);
  }

  #draw(state, speed) {
    const { run } = this;
    this.#shown = state;
    const [width, height] = this.#size;
    const first = run.known(0);
    const key = JSON.stringify([this.#size, run.setting.nodes, run.setting.algorithm, run.setting.options, run.catalogueEntry?.shape === "tree" && Boolean(first)]);
    if (key !== this.#layoutKey) [this.#layoutKey, this.#bends, this.#layout] = [key, new Map(), placeNodes(run.setting.nodes, run.catalogueEntry?.shape, first, width, height)];
    set(this.svg, { viewBox: `0 0 ${width} ${height}`, class: `graph ${this.#layout.shape} ${state.nodes.length > LABELS_UP_TO ? "many" : ""}` });
    const found = ways(run, state);
    this.#ways(state, found, speed);
    this.#ties(state);
    this.#messages(state);
    this.#spots(state);
    this.#tokens(state);
    this.#wrong(state);
    this.#words(state, found);
  }

  /** The ways of one node alone where there are too many for one picture. */
  #seen(number) {
    return this.#layout.at.length <= LABELS_UP_TO || this.run.chosen === number || (this.#layout.shape !== "grid" && this.run.chosen === null);
  }

  #bend(from, to, tone) {
    const side = (from < to ? 1 : -1) * (tone % 2 ? -1 : 1);
    return this.#clear(from, to, side * (0.1 + 0.06 * Math.floor((tone % 6) / 2)));
  }

  /** A bend with which an arc does not go through other nodes, if there is one near. */
  #clear(from, to, wanted) {
    const { r, at, shape } = this.#layout;
    if (shape === "grid" || from === to) return wanted;
    const key = `${from} ${to} ${wanted}`;
    const had = this.#bends.get(key);
    if (had !== undefined) return had;
    const free = (bend) => {
      const curve = arc(at[from], at[to], { bend });
      return [0.2, 0.35, 0.5, 0.65, 0.8].every((share) => {
        const { x, y } = along(curve, share);
        return at.every((node, number) => number === from || number === to || Math.hypot(node.x - x, node.y - y) > r + 9);
      });
    };
    const bend = [1, 1.8, -1, 2.8, -1.8, 0.3].map((by) => wanted * by).find(free) ?? wanted;
    this.#bends.set(key, bend);
    return bend;
  }

  /** The place of a message on its arc: not on a node, and not on another message. */
  #room(curve, base, wide, taken) {
    const { r, at } = this.#layout;
    const [w, tall] = [wide / 2, wide > 30 ? 11 : 7];
    const free = (share) => {
      const { x, y } = along(curve, share);
      const near = (node) => Math.abs(node.x - x) < r + w && Math.abs(node.y - y) < r + tall && Math.hypot(Math.max(0, Math.abs(node.x - x) - w), Math.max(0, Math.abs(node.y - y) - tall)) < r + 1;
      return !at.some(near) && !taken.some((other) => Math.abs(other.x - x) < w + other.w + 2 && Math.abs(other.y - y) < tall + other.tall + 2);
    };
    const share = [0, -0.14, 0.14, -0.26, 0.26].map((by) => base + by).find((it) => it > 0.1 && it < 0.92 && free(it));
    if (share === undefined && wide > DOT) return null;
    taken.push({ ...along(curve, share ?? base), w, tall });
    return share ?? base;
  }

  #ways(state, found, speed) {
    const { r, at } = this.#layout;
    const byKey = new Map(found.map((way) => [way.key, way]));
    const byToken = numbered(this.run);
    const list = state.nodes.flatMap((node, from) => node.pointers.filter(({ to }) => to !== from && at[to] && this.#seen(from)).map(({ name, token, to }) => ({ from, to, way: byKey.get(byToken && token !== null ? `token ${token}` : name) })))
      .filter(({ way }) => this.#only === null || way.token === null || way.token === this.#only);
    const targets = new Map();
    keyed(this.layers.ways, list, ({ from, to, way }) => `${from} ${way.key}${way.token === null ? to : ""}`, () => s("g", { class: "pointer" }), (element, { from, to, way }) => {
      const tone = colour(way.colour);
      const key = `${from} ${way.key}`;
      const had = this.#targets.get(key);
      targets.set(key, to);
      const bend = this.#bend(from, to, way.colour);
      const draw = (goal) => {
        const curve = arc(at[from], goal, { bend, gap: [r + 3, r + 6] });
        fill(element, s("path", { class: `line ${tone}`, d: curve.d }), head(curve, tone));
      };
      if (speed !== null && had !== undefined && had !== to && at[had]) this.#motion.start(POINTER * speed, swing, (share) => draw(between(at[had], at[to], share)));
      else draw(at[to]);
    });
    this.#targets = targets;
  }

  #ties(state) {
    const { r, at } = this.#layout;
    const lines = state.nodes.flatMap((node, from) => (this.#seen(from) ? node.ties.filter(({ to }) => to !== from && at[to]).map(({ to }) => s("path", { d: arc(at[from], at[to], { bend: 0.04, gap: [r + 2, r + 2] }).d })) : []));
    fill(this.layers.ties, lines.slice(0, 400));
  }

  #messages(state) {
    const { r, at } = this.#layout;
    const shown = state.flight.filter((it) => at[it.from] && at[it.to] && (this.#only === null || (it.token ?? it.asks ?? this.#only) === this.#only)).slice(0, MOST_MESSAGES);
    const worded = shown.length <= MOST_WORDED && at.length <= LABELS_UP_TO;
    const links = new Map();
    for (const it of shown) links.set(`${it.from}>${it.to}`, [...(links.get(`${it.from}>${it.to}`) ?? []), it]);
    this.#curves = new Map();
    const toneOf = (it) => colour(it.token ?? it.asks);
    const taken = [];
    for (const it of shown) {
      const link = links.get(`${it.from}>${it.to}`);
      // Messages of one link are on one arc: that of its token, if it carries one.
      const { token, asks } = link.find((one) => one.token !== null) ?? link[0];
      const side = token === null && asks === null ? 1 : (it.from < it.to ? 1 : -1) * ((token ?? asks) % 2 ? -1 : 1);
      const curve = arc(at[it.from], at[it.to], { bend: this.#clear(it.from, it.to, 0.17 * side), gap: [r + 3, r + 6] });
      const base = link.length === 1 ? 0.5 : 0.74 - (0.5 * link.indexOf(it)) / (link.length - 1);
      const words = it.token !== null ? String(it.token) : worded ? brief(it) : "";
      const wide = it.token !== null ? 28 : words ? Math.max(24, words.length * 6.3 + 14) : DOT;
      const share = this.#room(curve, base, wide, taken);
      // A text without room becomes a dot: its words are in the list and in its name.
      this.#curves.set(it.id, { curve, share: share ?? this.#room(curve, base, DOT, taken), words: share === null && it.token === null ? "" : words });
    }
    const routes = [...links.values()].map(([it]) => {
      const { curve } = this.#curves.get(it.id);
      const token = links.get(`${it.from}>${it.to}`).find((one) => one.token !== null) ?? it;
      return s("g", { class: `route ${token.token !== null ? "heavy" : ""}` }, s("path", { class: toneOf(token), d: curve.d }), head(curve, toneOf(token)));
    });
    fill(this.layers.routes, routes);
    const can = new Set(state.can.filter((it) => it.kind === "deliver").map((it) => it.message));
    keyed(this.layers.messages, shown, (it) => it.id, (it) => this.#message(it), (element, it) => {
      const place = this.#curves.get(it.id);
      const { words } = place;
      const key = `${toneOf(it)} ${words} ${it.token !== null}`;
      if (element.dataset.key !== key) {
        element.dataset.key = key;
        fill(element, this.#face(it, words));
      }
      put(element, along(place.curve, place.share));
      const can_it = can.has(it.id) && this.run.canAct;
      set(element, { class: `message ${it.token !== null ? "token busy" : ""} ${toneOf(it)} ${this.run.message === it.id ? "chosen" : ""} ${can_it ? "" : "behind"}`, "aria-label": `${words ? `${words}: ` : ""}${can_it ? "Deliver " : ""}${it.text} from ${it.from} to ${it.to}`, "aria-disabled": String(!can_it) });
    });
  }

  #message(it) {
    const now = () => this.#shown.flight.find((one) => one.id === it.id) ?? it;
    const element = s("g", { role: "button", tabindex: 0, onclick: () => this.on.message(now(), element), onfocus: () => this.run.chooseMessage(it.id), oncontextmenu: (event) => (event.preventDefault(), this.on.menu(now(), element)) });
    return element;
  }

  #face(it, words) {
    if (it.token !== null) return [s("circle", { class: "slice", r: 13 }), s("circle", { class: "inner", r: 9.5 }), s("text", {}, words)];
    if (!words) return [s("circle", { class: "hit", r: 12 }), s("circle", { class: "bead", r: 5.5 })];
    const wide = Math.max(24, words.length * 6.3 + 14);
    return [s("rect", { class: "bead", x: -wide / 2, y: -11, width: wide, height: 22, rx: 11 }), s("text", { class: "bead-text" }, words)];
  }

  #spots(state) {
    const { r, at } = this.#layout;
    const [width, height] = this.#size;
    const entry = this.run.catalogueEntry;
    keyed(this.layers.spots, state.nodes.map((node, number) => ({ node, number })), (it) => it.number, ({ number }) => {
      const spot = s("g", { role: "button", tabindex: 0, "data-node": number, onclick: () => this.on.node(number) }, s("circle", { class: "around" }), s("circle", { class: "disc" }), s("path", { class: "slash" }), s("text", { class: "number" }, String(number)), " ", s("g", { class: "pips" }), s("text", { class: "label" }));
      return spot;
    }, (spot, { node, number }) => {
      const [around, disc, slash, text, pips, label] = spot.children;
      const is = { inside: "in", waits: "waits", crashed: "crashed" }[node.is] ?? "out";
      const bad = wrong(state) && node.is === "inside" && this.run.violated;
      const close = at.length > CLOSE && this.#layout.shape === "ring";
      const words = bad ? "" : does(this.run, node, close);
      set(spot, { class: `spot ${is} ${is === "in" || is === "waits" ? toneClass(entry, node) : ""} ${this.run.chosen === number ? "chosen" : ""} ${bad ? "bad" : ""}`, "aria-label": `${number}${words ? ` ${words}` : ""}: ${node.words}`, "aria-pressed": String(this.run.chosen === number) });
      put(spot, at[number]);
      set(around, { r: r + 5 });
      set(disc, { r });
      set(slash, { d: `M${-r * 0.7} ${-r * 0.7}L${r * 0.7} ${r * 0.7}` });
      const many = this.run.setting.clients > 1;
      set(text, { y: many ? -r * 0.22 : 0 });
      fill(pips, many ? this.#pips(node, r) : []);
      const place = labelPlace(at[number], r, width, height, close);
      set(label, { x: place.x, y: place.y, class: `label ${place.anchor} ${node.is === "inside" ? "strong" : ""} ${state.nodes.length > LABELS_UP_TO ? "on-focus" : ""}` });
      if (label.textContent !== words) label.textContent = words;
    });
  }

  /** The clients of a node, each as a small mark. */
  #pips(node, r) {
    const count = Math.min(this.run.setting.clients, 6);
    return Array.from({ length: count }, (_, client) => {
      const it = node.clients.find((one) => one.client === client);
      const is = it?.is === "inside" ? "in" : it?.is === "waits" ? "waits" : "out";
      return s("circle", { class: `pip ${is} ${it ? toneClass(this.run.catalogueEntry, node, it) : ""}`, cx: (client - (count - 1) / 2) * Math.min(9, (r * 1.5) / count), cy: r * 0.45, r: Math.min(3.2, r * 0.17) });
    });
  }

  #tokens(state) {
    const list = state.nodes.flatMap((node, number) => {
      const tokens = this.#only === null ? node.tokens : node.tokens.filter((token) => token === this.#only);
      if (tokens.length) return tokens.slice(0, 3).map((token, index) => ({ key: `${number} ${token} ${index}`, number, token, index, more: index === 2 ? tokens.length - 3 : 0, busy: node.is === "inside", queue: node.queue.filter((it) => it.token === token || (index === 0 && (it.token === null || !tokens.includes(it.token)))) }));
      return node.queue.length && this.#layout.shape !== "grid" && this.#only === null ? [{ key: `${number} queue`, number, token: null, index: 0, more: 0, queue: node.queue }] : [];
    });
    keyed(this.layers.tokens, list, (it) => it.key, () => s("g", {}), (element, it) => {
      const tone = colour(it.token ?? it.queue[0]?.token ?? (this.run.catalogueEntry?.tokens === "none" ? null : 0));
      set(element, { class: `token ${tone} ${it.busy ? "busy" : "idle"}` });
      fill(element, this.#token(it));
    });
  }

  #token({ number, token, index, more, queue }) {
    const { r, at } = this.#layout;
    const [width] = this.#size;
    const left = at[number].x < width / 2 - 4;
    const dx = left && this.#layout.shape === "ring" ? -1 : 1;
    const small = r < 20;
    const angle = -0.79 + index * 0.8;
    const [x, y] = [at[number].x + dx * (r + 3) * Math.cos(angle), at[number].y + (r + 3) * Math.sin(angle)];
    const size = small ? 8 : 12;
    const parts = token === null ? [] : [s("circle", { class: "slice", cx: x, cy: y, r: size }), s("circle", { class: "inner", cx: x, cy: y, r: size - 3.2 }), s("text", { x, y }, more > 0 ? `+${more + 1}` : String(token))];
    if (small && this.run.chosen !== number) return parts;
    let end = x + dx * (token === null ? 2 : 14);
    const thread = s("line", { class: "thread", x1: x, y1: y, y2: y });
    const beads = [];
    for (const [place, it] of queue.entries()) {
      const words = it.groups?.length && this.run.catalogueEntry?.kind === "group-mutex" ? `g${it.groups[0]}` : it.via !== null && it.via !== undefined ? `via ${it.via}` : "";
      const wide = words ? 25 + words.length * 5.4 : 20;
      const room = dx > 0 ? width - end - wide - 6 : end - wide - 6;
      if (place >= BEADS || (room < 22 && place < queue.length - 1) || room < 0) {
        beads.push(s("text", { class: `beyond ${dx > 0 ? "start" : "end"}`, x: end + dx * 6, y }, `+ ${queue.length - place}`));
        break;
      }
      const middle = end + dx * (wide / 2 + 4);
      beads.push(s("rect", { class: "bead", x: middle - wide / 2, y: y - 10, width: wide, height: 20, rx: 10 }), s("text", { class: "bead-text", x: words ? middle - wide / 2 + 11 : middle, y }, String(it.node)), words && s("text", { class: "via", x: middle + 7, y }, words));
      end += dx * (wide + 4);
    }
    thread.setAttribute("x2", end);
    return [queue.length > 0 && thread, ...parts, ...beads].filter(Boolean);
  }

  /** Those who are inside although they must not be: a capsule round them. */
  #wrong(state) {
    const property = wrong(state);
    const { r, at, shape } = this.#layout;
    const inside = state.nodes.map((node, number) => ({ node, ...at[number] })).filter(({ node }) => node.is === "inside");
    if (!property || inside.length < 2 || shape === "grid" || inside.length > 6) return fill(this.layers.wrong);
    const [mx, my] = [inside.reduce((sum, it) => sum + it.x, 0) / inside.length, inside.reduce((sum, it) => sum + it.y, 0) / inside.length];
    const round = inside.toSorted((a, b) => Math.atan2(a.y - my, a.x - mx) - Math.atan2(b.y - my, b.x - mx));
    const d = `M${round.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}${round.length > 2 ? "Z" : ""}`;
    const [words, top] = [property.detail || property.name, Math.min(...inside.map((it) => it.y))];
    const wide = Math.min(this.#size[0] - 16, words.length * 6.6 + 28);
    const x = Math.max(wide / 2 + 8, Math.min(this.#size[0] - wide / 2 - 8, mx));
    const y = Math.max(16, top - r - 15);
    const line = (kind, more) => s("path", { class: kind, d, "stroke-width": 2 * (r + 14) + more, "stroke-linejoin": "round", "stroke-linecap": "round" });
    fill(this.layers.wrong, line("edge", 3), line("ground", 0), line("hatched", 0), s("g", { class: "tag" }, s("rect", { x: x - wide / 2, y: y - 13, width: wide, height: 26, rx: 13 }), s("text", { x, y }, words)));
  }

  #words(state, found) {
    const tokens = numbered(this.run) ? this.run.setting.tokens : 0;
    const key = JSON.stringify([found, tokens, this.#only, state.nodes.length]);
    if (this.legend.dataset.key === key) return;
    this.legend.dataset.key = key;
    const sample = (tone) => s("svg", { width: 26, height: 8, class: `key-line ${tone}`, "aria-hidden": "true" }, s("path", { class: `line ${tone}`, d: "M1 4H25" }));
    fill(this.legend, found.slice(0, 6).flatMap((way) => [sample(colour(way.colour)), h("span", {}, way.words)]), h("span", { class: "key ring-waits" }), h("span", {}, "waits"), h("span", { class: "key ring-in" }), h("span", {}, "inside"), state.nodes.length > LABELS_UP_TO && h("span", {}, "choose a node to see its ways"));
    const chip = (token, text) => h("button", { class: "chip", "aria-pressed": String(this.#only === token), onclick: () => this.only(token) }, text);
    fill(this.chips, tokens > 1 && tokens <= 4 ? [chip(null, tokens === 2 ? "Both" : "All"), Array.from({ length: tokens }, (_, token) => chip(token, `Token ${token}`))] : []);
    if (tokens <= (this.#only ?? -1)) this.#only = null;
    const kind = this.run.catalogueEntry?.tokens;
    fill(this.about, kind === "none" ? "who is inside, who waits, and permissions" : "tokens, the ways to them, and who waits");
  }

  /** Shows one token alone, or all of them. */
  only(token) {
    this.#only = token;
    this.redraw();
  }
}
