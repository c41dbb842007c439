// Hand-offs: which node held which slot, for as long as the page looks; how many waited meanwhile.

import { fill, h, keyed, s, say } from "../dom.js";
import { colour } from "../draw/marks.js";
import { mark } from "../router.js";
import { chosen, count, fence, lasted, shortClock, who } from "../words.js";
import { place, tabled } from "./tables.js";

export const SPANS = { "10s": ["10 s", 10_000], "30s": ["30 s", 30_000], "5min": ["5 min", 300_000], "1h": ["1 h", 3_600_000] };
const MOST_LANES = 8;
const MOST_BARS = 60;
const MOST_ROWS = 200;
/** What is listed may be older than the event of a grant by this much. */
const MISSED_AFTER = 1500;
const LONGEST = 3_600_000;

const ENDS = ["released", "lost", "taken-away"];

/** A grant is that of a request: readers at one node have the same slot and the same fence. */
const key = (it) => [it.node, it.session, it.request, it.slot, it.fence].join("/");

/** Which grants there were: those that events told of, and those that were listed. */
export class Grants {
  #all = new Map();
  #last = 0;

  /** All grants since the page looks, after these events and what was listed at `asked`. */
  update(events, clients, asked) {
    for (const event of events.filter((it) => it.number > this.#last)) {
      this.#last = event.number;
      if (event.event === "granted") this.#all.set(key(event), { ...event, from: event.at, to: null });
      else if (ENDS.includes(event.event)) this.#end(key(event), event);
    }
    const held = new Set(clients.filter((client) => client.state === "holds").map(key));
    for (const client of clients) if (held.has(key(client)) && !this.#all.has(key(client))) this.#all.set(key(client), { ...client, from: asked - client.since_ms, to: null });
    for (const [name, grant] of this.#all) {
      if (held.has(name)) grant.seen = asked;
      // No event told of its end, and the node does not list it: it was held at least until it was listed last.
      else if (grant.to === null && asked - (grant.seen ?? grant.from) > MISSED_AFTER) grant.to = grant.seen ?? grant.from;
      if (grant.to !== null && asked - grant.to > LONGEST) this.#all.delete(name);
    }
    return [...this.#all.values()].sort((a, b) => a.from - b.from);
  }

  /** A grant from before the page has no event of its own: its beginning was listed, here or by the model. */
  #end(name, event) {
    const known = this.#all.get(name) ?? (event.from && { ...event });
    if (known) this.#all.set(name, Object.assign(known, { to: event.at, lost: event.event !== "released" }));
  }
}

/** Lanes: the slots of a semaphore; for others, so many that no two grants in one overlap. */
function lanes(kind, held) {
  const all = new Map();
  const ends = [];
  for (const grant of held) {
    let lane = grant.slot;
    if (kind === "room" || kind === "rwlock") {
      lane = ends.findIndex((end) => end <= grant.from);
      if (lane < 0) lane = ends.length;
      ends[lane] = grant.to ?? Infinity;
    }
    if (!all.has(lane)) all.set(lane, []);
    all.get(lane).push(grant);
  }
  return [...all].sort(([a], [b]) => a - b);
}

export class HandOffs {
  /** How many waited, each time that was asked. */
  #samples = [];
  #grants = new Grants();

  constructor(span) {
    this.span = span in SPANS ? span : "30s";
    this.lanes = h("div", { class: "lanes" });
    this.waiting = s("svg", { class: "waiting", preserveAspectRatio: "none", viewBox: "0 0 1000 40", "aria-hidden": "true" });
    this.waitingNow = h("span", { class: "end" });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    this.beyond = h("p", { class: "quiet" });
    this.table = place("Hand-offs");
    this.waits = place("How many waited");
    this.spans = h("div", { class: "chips", role: "group", "aria-label": "How long" }, Object.entries(SPANS).map(([key, [text]]) => h("button", { class: "chip", "data-span": key, onclick: () => this.#choose(key) }, text)));
    this.element = h(
      "section",
      { class: "panel handoffs", "aria-labelledby": "handoffs-title" },
      h("div", { class: "bar" }, h("h2", { id: "handoffs-title" }, "Hand-offs"), h("p", { class: "quiet" }, "which node held; since the page looks"), this.spans),
      (this.time = h("div", { class: "time" }, this.axis, this.lanes, h("div", { class: "lane wait" }, h("span", { class: "begin" }, "waiting"), h("div", { class: "track" }, this.waiting), this.waitingNow))),
      this.beyond,
      (this.tables = h("div", { class: "two-tables", hidden: true }, this.table.element, this.waits.element)),
    );
    this.#mark();
  }

  #choose(key) {
    this.span = key;
    mark("span", key === "30s" ? "" : key);
    this.#mark();
    this.redraw?.();
  }

  #mark() {
    for (const chip of this.spans.children) chip.setAttribute("aria-pressed", chip.dataset.span === this.span);
    const [, ms] = SPANS[this.span];
    fill(this.axis, Array.from({ length: 6 }, (_, at) => h("span", {}, at === 5 ? "now" : `−${chosen((ms * (5 - at)) / 5)}`)));
  }

  sample(at, waiting) {
    this.#samples.push([at, waiting]);
    if (this.#samples.length > 2000) this.#samples.splice(0, 500);
  }

  update(events, lock, asked, now) {
    const [, span] = SPANS[this.span];
    const held = this.#grants.update(events, lock.clients, asked);
    const seen = held.filter((grant) => (grant.to ?? now) > now - span);
    const all = lanes(lock.kind, seen);
    const slotted = lock.kind === "mutex" || lock.kind === "semaphore";
    keyed(this.lanes, all.slice(0, MOST_LANES), ([lane]) => lane, ([lane]) => makeLane(lane, slotted && (lock.slots ?? 1) > 1), (element, [, grants]) => updateLane(element, grants, now, span, lock.kind));
    this.lanes.classList.toggle("none", all.length === 0);
    say(this.beyond, all.length > MOST_LANES && !tabled() ? `${count(all.length - MOST_LANES)} more slots were held` : all.length === 0 ? "No grant in this time." : "");
    this.#area(now, span, lock);
    this.#tabulate(held, now, span);
  }

  /** The same as two tables: who held when, and how many waited, where that changed. */
  #tabulate(held, now, span) {
    [this.time.hidden, this.tables.hidden] = [tabled(), !tabled()];
    if (!tabled()) return;
    const ended = (it) => (it.to === null ? "held now" : lasted(it.to - it.from));
    const within = (at) => at > now - span;
    const shown = held.filter((it) => within(it.to ?? now)).slice(-MOST_ROWS).reverse();
    this.table.update(["from", "slot", "node", "who", "fence", ["held for", "number"]], shown.map((it) => [shortClock(it.from), String(it.slot), String(it.node), who(it.label).name, fence(it.fence), ended(it)]));
    const changes = this.#samples.filter(([at, number], index) => within(at) && number !== this.#samples[index - 1]?.[1]).slice(-MOST_ROWS).reverse();
    this.waits.update(["since", ["waiting", "number"]], changes.map(([at, number]) => [shortClock(at), count(number)]));
  }

  #area(now, span, lock) {
    const waiting = lock.clients.filter((client) => client.state === "waits").length;
    const shown = this.#samples.filter(([at], index) => at > now - span || (this.#samples[index + 1]?.[0] ?? 0) > now - span);
    const top = Math.max(4, ...shown.map(([, number]) => number));
    const x = (at) => Math.max(0, 1000 - ((now - at) / span) * 1000).toFixed(1);
    let d = "";
    shown.forEach(([at, number], index) => {
      const end = shown[index + 1]?.[0] ?? now;
      if (number) d += `M${x(at)} 40V${(40 - (number / top) * 38).toFixed(1)}H${x(end)}V40Z`;
    });
    fill(this.waiting, s("path", { d }));
    say(this.waitingNow, waiting ? `${count(waiting)} ${waiting === 1 ? "waits" : "wait"}` : "none waits");
  }
}

function makeLane(lane, numbered) {
  const track = h("div", { class: "track" });
  const end = h("span", { class: "end" });
  const element = h("div", { class: "lane" }, h("span", { class: "begin" }, numbered ? h("span", { class: `slice busy ${colour(lane)}` }, h("span", {}, String(lane))) : "held"), track, end);
  return Object.assign(element, { track, end });
}

function updateLane(element, grants, now, span, kind) {
  const shown = grants.slice(-MOST_BARS);
  keyed(element.track, shown, key, (it) => {
    const text = [who(it.label).name, it.group, fence(it.fence)].filter(Boolean).join(", ");
    const tone = kind === "room" || kind === "rwlock" ? "t2" : colour(it.slot);
    return h("div", { class: `held ${tone}`, title: `node ${it.node}: ${text}` }, h("b", {}, String(it.node)), h("span", {}, text));
  }, (bar, it) => {
    const from = Math.max(it.from, now - span);
    const to = it.to ?? now;
    bar.style.left = `${(100 - ((now - from) / span) * 100).toFixed(2)}%`;
    bar.style.width = `${Math.max(0.25, ((to - from) / span) * 100).toFixed(2)}%`;
    bar.classList.toggle("now", it.to === null);
    bar.classList.toggle("lost", Boolean(it.lost));
    bar.classList.toggle("short", (to - from) / span < 0.07);
    bar.classList.toggle("tiny", (to - from) / span < 0.035);
  });
  const last = shown.at(-1);
  say(element.end, last && last.to === null ? `node ${last.node}, ${lasted(now - last.from)}` : "free");
}
