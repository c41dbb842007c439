// The cluster as this page knows it: what the node answers, what its events say, and how old all of that is.
//
// Events say that a name changed. What it is now is always asked for, so a missed event makes the picture late, never wrong.

import { Problem, ask, watch } from "../ask.js";
import { Rates } from "./figures.js";

const ASK_EVERY = 2000;
/** So many names are asked for at once after they changed. */
const AT_ONCE = 40;
const REFRESH_EVERY = 300;
/** All names are listed again this often, and at most a tenth of the time is spent on that. */
const LIST_EVERY = 10_000;
/** So long out of sight, a page watches no longer. */
const OUT_OF_SIGHT = 30_000;
const MOST_EVENTS = 2000;
const MOST_NAMES = 50_000;
/** Without an answer for this long, the picture is old. */
const OLD_AFTER = 5000;
export const BINS = 30;
export const BIN = 20_000;
/** A name that changes more often than this in a second is shown without flights. */
const HOT = 8;

/** Events that are about a name. */
const ABOUT_NAMES = new Set(["waits", "granted", "released", "gave-up", "lost", "taken-away", "force-released"]);

class Live extends EventTarget {
  cluster = null;
  names = new Map();
  definitions = new Map();
  events = [];
  rates = new Rates();
  /** Events that this page did not get, as far as it knows; whether there are more, of unknown number; nodes that are silent. */
  missed = 0;
  gaps = false;
  silent = new Set();
  /** When the page began to look. */
  began = Date.now();
  heard = 0;
  problem = null;
  /** Whether all names have been listed once. */
  listed = false;
  heldAt = null;
  waiting = [];
  waitingMore = 0;
  noAnswer = [];
  #sequence = 0;
  #resumed = 0;
  #dirty = new Set();
  /** How names that are not listed yet were used. */
  #fresh = new Map();
  #wanted = [];
  #flags = new Set();
  #timer = 0;
  #sleepers = new Set();

  start() {
    this.#loop(() => this.#askCluster(), () => ASK_EVERY);
    this.#loop(() => this.#list(), (took) => Math.max(LIST_EVERY, 10 * took));
    this.#loop(() => this.#refresh(), () => REFRESH_EVERY);
    this.#watch();
    setInterval(() => document.hidden || this.#tell("tick"), 500);
    document.addEventListener("visibilitychange", () => document.hidden || this.#tell("all"));
  }

  /** The time of the picture: it stands still while the picture does. */
  now() {
    return this.heldAt ?? (this.old ? this.heard : Date.now());
  }

  /** Whether the node has been silent for so long that the picture is old. While the picture is held still, nothing is asked. */
  get old() {
    return this.heard > 0 && this.heldAt === null && Date.now() - Math.max(this.heard, this.#resumed) > OLD_AFTER;
  }

  /** The views name what they show: that is asked for first. */
  show(names) {
    this.#wanted = names;
  }

  /** Asks again now. */
  retry() {
    this.problem = null;
    this.#wake();
    this.#tell("all");
  }

  hold() {
    if (this.heldAt !== null) return;
    this.heldAt = Date.now();
    this.#tell("all");
  }

  resume() {
    if (this.heldAt === null) return;
    [this.heldAt, this.#resumed] = [null, Date.now()];
    const waiting = this.waiting;
    if (this.waitingMore) this.#note({ event: "missed", facts: { events: this.waitingMore }, held: true }, Date.now());
    [this.waiting, this.waitingMore] = [[], 0];
    for (const [seen, at] of waiting) this.#note(seen, at);
    this.#wake();
    this.#tell("all");
  }

  /** Something was ordered: look at this name now. */
  changed(name) {
    this.#dirty.add(name);
  }

  #tell(flag) {
    this.#flags.add(flag);
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      if (document.hidden) return;
      const flags = this.#flags;
      this.#flags = new Set();
      this.dispatchEvent(new CustomEvent("change", { detail: flags }));
    }, 60);
  }

  #answered() {
    this.heard = Date.now();
    if (this.problem) {
      this.problem = null;
      this.#tell("all");
    }
  }

  /** Does something again and again. What fails is kept for the views, and tried again. */
  async #loop(work, pause) {
    for (;;) {
      const begun = Date.now();
      try {
        if (this.heldAt === null && this.problem?.status !== 401) await work();
      } catch (problem) {
        this.#failed(problem);
      }
      await this.#sleep(document.hidden ? 5000 : pause(Date.now() - begun));
    }
  }

  #failed(problem) {
    if (!(problem instanceof Problem)) throw problem;
    // A caller that may read names need not be allowed to see the cluster: then the rest of the page goes on.
    this.problem = problem;
    this.#tell("all");
  }

  #sleep(ms) {
    return new Promise((done) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        done();
      };
      const timer = setTimeout(wake, ms);
      this.#sleepers.add(wake);
    });
  }

  #wake() {
    for (const wake of [...this.#sleepers]) wake();
  }

  async #askCluster() {
    const cluster = await ask("/v1/cluster");
    if (this.heldAt !== null) return;
    this.#answered();
    this.cluster = cluster;
    this.rates.add(Date.now(), cluster.nodes);
    this.#tell("cluster");
  }

  async #pages(query) {
    const found = new Map();
    let after = null;
    do {
      const page = await ask(`/v1/locks?nodes=all${query}${after === null ? "" : `&after=${encodeURIComponent(after)}`}`);
      for (const lock of page.locks) {
        const had = found.get(lock.name);
        if (had) had.clients.push(...lock.clients);
        else found.set(lock.name, lock);
      }
      this.noAnswer = page.no_answer;
      after = page.next;
    } while (after !== null && found.size < MOST_NAMES);
    this.#answered();
    return found;
  }

  async #list() {
    const begun = Date.now();
    const [found, definitions] = await Promise.all([this.#pages(""), this.#define()]);
    if (this.heldAt !== null) return;
    this.definitions = definitions;
    for (const lock of found.values()) this.#put(lock, begun);
    for (const [name, defined] of definitions) if (!this.names.has(name)) this.#put({ ...defined, home: null, clients: [] }, begun);
    for (const [name, entry] of this.names) {
      entry.defined = definitions.has(name);
      if (found.has(name) || entry.at > begun) continue;
      const recent = entry.used && Date.now() - entry.used < BINS * BIN;
      if (entry.defined || recent || this.#kept(entry).length) this.#put({ ...entry, clients: [] }, begun);
      else this.names.delete(name);
    }
    for (const [name, { used }] of this.#fresh) if (begun - used > BINS * BIN) this.#fresh.delete(name);
    this.listed = true;
    this.#tell("names");
  }

  async #define() {
    const all = new Map();
    let after = null;
    do {
      const page = await ask(`/v1/definitions${after === null ? "" : `?after=${encodeURIComponent(after)}`}`);
      for (const defined of page.definitions) all.set(defined.name, defined);
      after = page.next;
    } while (after !== null && all.size < MOST_NAMES);
    return all;
  }

  /** The clients at nodes that give no answer: they are kept as these nodes last said. */
  #kept({ clients = [] }) {
    return clients.filter((client) => this.noAnswer.some(({ node }) => node === client.node));
  }

  #put(lock, at) {
    let entry = this.names.get(lock.name);
    if (!entry) {
      entry = Object.assign(this.#use(lock.name), { name: lock.name, defined: false, since: Date.now() });
      this.names.set(lock.name, entry);
      this.#fresh.delete(lock.name);
    }
    const { kind, slots, home } = lock;
    const clients = [...lock.clients, ...this.#kept(entry)];
    Object.assign(entry, { kind, slots, home: home ?? entry.home ?? null, clients, at });
    // By slot: how long they have held comes from several clocks, and would let neighbours change places.
    entry.holders = clients.filter((client) => client.state === "holds").sort((a, b) => a.slot - b.slot || a.node - b.node);
    // The node lists those that wait by their turns.
    entry.waiters = clients.filter((client) => client.state === "waits");
    entry.version = (entry.version ?? 0) + 1;
    for (const holder of entry.holders) if (holder.slot !== null && !entry.last.has(holder.slot)) entry.last.set(holder.slot, holder.node);
  }

  async #refresh() {
    if (!this.listed || this.#dirty.size === 0) return;
    const wanted = this.#wanted.filter((name) => this.#dirty.has(name));
    const names = [...new Set([...wanted, ...this.#dirty])].slice(0, AT_ONCE);
    for (const name of names) this.#dirty.delete(name);
    const begun = Date.now();
    let found;
    try {
      found = await this.#pages(names.map((name) => `&name=${encodeURIComponent(name)}`).join(""));
    } catch (problem) {
      for (const name of names) this.#dirty.add(name);
      throw problem;
    }
    if (this.heldAt !== null) return;
    for (const name of names) {
      const lock = found.get(name);
      if (lock) this.#put(lock, begun);
      else if (this.names.has(name)) this.#put({ ...this.names.get(name), clients: [] }, begun);
    }
    this.#tell("names");
  }

  /**
   * A browser has six connections to a node, and each page that watches keeps one of them: a page that is out of sight for a
   * while gives it up, or the seventh would show nothing.
   */
  async #inSight() {
    while (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
    const hidden = new AbortController();
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => hidden.abort(), OUT_OF_SIGHT);
    };
    document.addEventListener("visibilitychange", look, { signal: hidden.signal });
    return hidden;
  }

  async #watch() {
    /** Why what happens now was not seen from the beginning. */
    let gap = null;
    for (let pause = 500; ; pause = Math.min(8000, pause * 2)) {
      const sight = await this.#inSight();
      try {
        for await (const seen of watch("/v1/watch?nodes=all", sight.signal)) {
          pause = 500;
          if (seen.event === "watching" && gap) this.#saw({ event: "gap", facts: { gap } });
          gap = "The connection broke";
          this.#saw(seen);
        }
      } catch (problem) {
        if (problem instanceof Problem && !problem.silent) this.#failed(problem);
      }
      if (sight.signal.aborted) gap = "This page was out of sight";
      else await this.#sleep(pause);
      sight.abort();
    }
  }

  #saw(seen) {
    const at = Date.now();
    if (this.heldAt === null) return this.#note(seen, at);
    if (this.waiting.length < MOST_EVENTS) this.waiting.push([seen, at]);
    else this.waitingMore += 1;
    this.#tell("events");
  }

  #note({ event, facts, held }, at) {
    if (event === "watching") return this.silent.clear();
    if (event === "missed") this.missed += facts.events;
    if (["gap", "resumed", "node-silent", "node-watched"].includes(event)) this.gaps = true;
    // One silence, one line: the node that asks it says so each time that it tries in vain.
    if (event === "node-silent" && this.silent.has(facts.node)) return;
    if (event === "node-silent") this.silent.add(facts.node);
    if (event === "node-watched") this.silent.delete(facts.node);
    this.#sequence += 1;
    this.events.push({ event, at, number: this.#sequence, held, from: this.#heldFrom(facts), ...facts });
    if (this.events.length > MOST_EVENTS) this.events.splice(0, this.events.length - MOST_EVENTS);
    if (ABOUT_NAMES.has(event)) this.#follow(event, facts, at);
    // What was missed may have changed any name.
    if (event === "missed" || event === "gap") for (const name of this.#wanted) this.#dirty.add(name);
    this.#tell("events");
  }

  /** Since when a grant is held that is listed, and may be from before the page. */
  #heldFrom({ name, node, session, request }) {
    const entry = this.names.get(name);
    const holder = entry?.holders.find((it) => it.node === node && it.session === session && it.request === request);
    return holder && entry.at - holder.since_ms;
  }

  /** How a name was used since the page looks: its entry, or what becomes that when it is listed. */
  #use(name) {
    let use = this.names.get(name) ?? this.#fresh.get(name);
    if (!use) this.#fresh.set(name, (use = { bins: null, heat: 0, used: 0, last: new Map() }));
    return use;
  }

  #follow(event, facts, at) {
    this.#dirty.add(facts.name);
    const entry = this.#use(facts.name);
    entry.heat = entry.heat * Math.exp((entry.used - at) / 1000) + 1;
    entry.used = at;
    if (event !== "granted") return;
    entry.bins ??= new Map();
    const bin = Math.floor(at / BIN);
    entry.bins.set(bin, (entry.bins.get(bin) ?? 0) + 1);
    for (const old of entry.bins.keys()) if (old <= bin - BINS) entry.bins.delete(old);
    const from = entry.last.get(facts.slot);
    entry.last.set(facts.slot, facts.node);
    if (from !== undefined && from !== facts.node && entry.heat < HOT && this.heldAt === null && !document.hidden) {
      this.dispatchEvent(new CustomEvent("move", { detail: { name: facts.name, slot: facts.slot, from, to: facts.node } }));
    }
  }
}

export const live = new Live();

/** For how long a client has held or waited, at the time of the picture. */
export const age = (entry, client) => client.since_ms + Math.max(0, live.now() - entry.at);

/** The client of these that has held or waited longest. */
export const oldest = (clients) => clients.reduce((most, client) => (client.since_ms > (most?.since_ms ?? -1) ? client : most), null);

/** For how long the longest waiter has waited. */
export const longest = (entry) => (entry.waiters.length ? age(entry, oldest(entry.waiters)) : null);

/** Whether the page has looked for as long as it counts grants. */
export const countsInFull = () => live.now() - live.began >= BINS * BIN;
