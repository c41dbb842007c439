// The names of the cluster: each row is a picture of its holders and its queue. Only the rows in sight are in the document.

import { fill, h, keyed, say } from "../dom.js";
import { bars } from "../draw/charts.js";
import { icon } from "../draw/icons.js";
import { discs, free } from "../draw/marks.js";
import { address, go, replace } from "../router.js";
import { about, count, lasted, many } from "../words.js";
import { define } from "./acts.js";
import { SORTS, select, tally, toQuery } from "./filter.js";
import { BIN, BINS, countsInFull, live, longest } from "./model.js";
import { empty, loading } from "./states.js";
import { tabled } from "./tables.js";

/** So many rows are kept above and below those in sight; at most 100 in all. */
const AROUND = 12;
const MOST_ROWS = 100;
/** The order is made anew at most this often: rows that jump cannot be read. */
const ORDER_EVERY = 3000;

const CHIPS = [
  ["all", "All", { kind: "", waits: false }],
  ["waits", "Waiting", { waits: true }],
  ["mutex", "Mutexes", { kind: "mutex" }],
  ["semaphore", "Semaphores", { kind: "semaphore" }],
  ["rwlock", "Read-write", { kind: "rwlock" }],
  ["room", "Rooms", { kind: "room" }],
];

export class Names {
  #order = [];
  #ordered = 0;
  #known = 0;
  #pointer = false;
  #cursor = null;

  /** `filter` is changed in place; `path` is the address of the view that this is in. */
  constructor(filter, path, fixed = {}) {
    Object.assign(this, { filter, path, fixed });
    this.counted = h("p", { class: "counted", role: "status" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Which names" });
    this.sort = h("select", { id: "sort", onchange: () => this.change({ sort: this.sort.value }) }, Object.entries(SORTS).map(([key, name]) => h("option", { value: key }, name)));
    this.sort.value = filter.sort;
    this.more = h("button", { class: "fresh", hidden: true, onclick: () => this.#reorder(true) });
    this.rows = h("div", { class: "rows", role: "rowgroup" });
    this.scroll = h("div", { class: "scroll", tabindex: 0, role: "table", "aria-label": "Names", onscroll: () => this.#draw() }, this.#head(), this.rows);
    this.scroll.addEventListener("pointerenter", () => (this.#pointer = true));
    this.scroll.addEventListener("pointerleave", () => {
      this.#pointer = false;
      if (!this.more.hidden) this.#reorder(true);
    });
    this.note = h("div", { class: "note" });
    this.element = h(
      "section",
      { class: "panel names", "aria-labelledby": "names-title" },
      h("div", { class: "bar" }, h("h2", { id: "names-title" }, "Names"), this.counted, this.chips, h("label", { class: "sort", for: "sort" }, "by", this.sort), h("button", { class: "button act", onclick: () => define() }, "Define…")),
      this.more,
      this.scroll,
      this.note,
    );
    this.resized = new ResizeObserver(() => this.#draw());
    this.resized.observe(this.scroll);
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.#reorder(true);
  }

  leave() {
    this.resized.disconnect();
    live.show([]);
  }

  #head() {
    const cell = (kind, text) => h("div", { class: kind, role: "columnheader" }, text);
    return h("div", { class: "head", role: "rowgroup" }, h("div", { class: "row", role: "row" }, cell("name", "name"), cell("holders", "held by node"), cell("queue", "queue, next first"), cell("longest", "longest wait"), (this.counts = cell("grants", ""))));
  }

  /** A choice of the reader replaces the address. */
  change(choice) {
    Object.assign(this.filter, choice);
    replace(address(this.path, { ...toQuery(this.filter), events: new URLSearchParams(location.search).get("events") }));
    this.scroll.scrollTop = 0;
    this.#reorder(true);
  }

  #clicked(event) {
    const row = event.target.closest?.(".row[data-name]");
    if (row && !event.target.closest("a") && !getSelection()?.toString()) go(nameAddress(row.dataset.name));
  }

  /** The next or the previous row, by the keys J and K. */
  step(by) {
    const at = this.#order.findIndex((entry) => entry.name === this.#cursor);
    const to = this.#order[Math.max(0, Math.min(this.#order.length - 1, at < 0 ? 0 : at + by))];
    if (!to) return;
    this.#cursor = to.name;
    const top = this.#order.indexOf(to) * this.#height();
    const [from, tall] = [this.scroll.scrollTop, this.scroll.clientHeight - 60];
    if (top < from || top + this.#height() > from + tall) this.scroll.scrollTop = Math.max(0, top - tall / 2);
    this.#draw();
    this.rows.querySelector(".row.cursor a")?.focus({ preventScroll: true });
  }

  #height() {
    return matchMedia("(max-width: 699px)").matches ? 74 : 48;
  }

  #reorder(now) {
    const held = this.#pointer || live.heldAt !== null;
    if (!now && (held || Date.now() - this.#ordered < Math.max(1000, ORDER_EVERY)) && this.#ordered) {
      const fresh = live.names.size - this.#known;
      this.more.hidden = fresh <= 0 || live.heldAt !== null;
      if (fresh > 0) say(this.more, `${count(fresh)} more`);
      if (held) return;
      if (Date.now() - this.#ordered < ORDER_EVERY && !(fresh > 0 && this.#order.length < 50)) return;
    }
    this.#order = select(live.names, { ...this.filter, ...this.fixed });
    this.#ordered = Date.now();
    this.#known = live.names.size;
    this.more.hidden = true;
    this.#draw();
  }

  update(flags) {
    if (flags.has("names") || flags.has("all")) this.#reorder(false);
    this.#toolbar();
    this.#draw();
  }

  #toolbar() {
    say(this.counts, countsInFull() ? "grants, last 10 min" : "grants since the page looks");
    const counts = tally(live.names, this.fixed);
    const { all } = counts;
    const plain = !this.filter.q && !this.filter.kind && !this.filter.waits;
    say(this.counted, !live.listed ? "" : plain ? count(all) : `${count(this.#order.length)} of ${count(all)}`);
    const shown = CHIPS.filter(([key]) => key === "all" || counts[key] > 0 || this.filter.kind === key || (key === "waits" && this.filter.waits));
    const chosen = (key) => (key === "all" ? !this.filter.kind && !this.filter.waits : key === "waits" ? this.filter.waits : this.filter.kind === key);
    const make = ([key, , choice]) => h("button", { class: "chip", onclick: () => this.change(chosen(key) && key !== "all" ? (key === "waits" ? { waits: false } : { kind: "" }) : choice) });
    keyed(this.chips, shown, ([key]) => key, make, (chip, [key, name]) => {
      say(chip, key === "all" ? name : `${name} ${count(counts[key])}`);
      chip.setAttribute("aria-pressed", chosen(key));
    });
  }

  #draw() {
    const height = this.#height();
    const tall = this.scroll.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / height) - AROUND);
    const last = Math.min(this.#order.length, first + Math.min(MOST_ROWS, Math.ceil(tall / height) + 2 * AROUND));
    const shown = this.#order.slice(first, last);
    this.rows.style.height = `${this.#order.length * height}px`;
    this.scroll.setAttribute("aria-rowcount", this.#order.length + 1);
    live.show(shown.map((entry) => entry.name));
    const index = new Map(shown.map((entry, at) => [entry.name, first + at]));
    keyed(this.rows, shown, (entry) => entry.name, (entry) => row(entry), (element, entry) => {
      const at = index.get(entry.name);
      element.style.transform = `translateY(${at * height}px)`;
      element.setAttribute("aria-rowindex", at + 2);
      element.classList.toggle("cursor", entry.name === this.#cursor);
      redraw(element, entry);
    });
    this.#states();
  }

  #states() {
    const none = this.#order.length === 0;
    this.scroll.hidden = none;
    const key = !none ? "" : !live.listed ? (live.problem ? "nothing" : "loading") : live.names.size ? "filtered" : `empty/${live.cluster?.nodes.length ?? 0}`;
    if (this.note.dataset.key === key) return;
    this.note.dataset.key = key;
    if (key === "loading") fill(this.note, loading());
    else if (key.startsWith("empty")) fill(this.note, empty(live.cluster));
    else if (key === "filtered") fill(this.note, h("p", { class: "quiet nothing" }, "No name matches."));
    else fill(this.note);
  }
}

export const nameAddress = (name) => address(`name/${encodeURIComponent(name)}`);

function row(entry) {
  const cells = {
    about: h("span", { class: "about" }),
    kind: h("span", { class: "kind" }),
    holders: h("div", { class: "holders", role: "cell" }),
    queue: h("div", { class: "queue", role: "cell" }),
    longest: h("div", { class: "longest", role: "cell" }),
    grants: h("div", { class: "grants", role: "cell" }),
  };
  const name = h("div", { class: "name", role: "rowheader" }, cells.kind, h("a", { href: nameAddress(entry.name) }, entry.name), cells.about);
  const element = h("div", { class: "row", role: "row", "data-name": entry.name }, name, cells.holders, cells.queue, cells.longest, cells.grants);
  element.cells = cells;
  return element;
}

function redraw(element, entry) {
  const { cells } = element;
  const wait = longest(entry);
  say(cells.longest, wait === null ? "–" : lasted(wait));
  const bin = Math.floor(live.now() / BIN);
  const version = `${entry.version}/${entry.defined}`;
  const grants = `${tabled()}/${bin}/${entry.bins ? [...entry.bins.values()].join() : ""}`;
  if (element.grants !== grants) {
    element.grants = grants;
    const numbers = Array.from({ length: BINS }, (_, at) => entry.bins?.get(bin - BINS + 1 + at) ?? 0);
    const all = numbers.reduce((sum, one) => sum + one, 0);
    // Behind the bars are thirty numbers: all of them, and those of the last minute.
    const minute = numbers.slice(Math.round(-60_000 / BIN)).reduce((sum, one) => sum + one, 0);
    fill(cells.grants, tabled() ? [count(all), h("span", { class: "quiet" }, `, last minute ${count(minute)}`)] : [bars(numbers), h("span", { class: "hidden-text" }, many(all, "grant"))]);
  }
  if (element.version === version) return;
  element.version = version;
  fill(cells.kind, icon(entry.kind, 17));
  say(cells.about, about(entry));
  fill(cells.holders, holders(entry));
  fill(cells.queue, queue(entry));
  element.classList.toggle("idle", entry.clients.length === 0);
}

function holders(entry) {
  const nodes = entry.holders.map((client) => client.node);
  const spoken = nodes.length ? `held at node ${nodes.slice(0, 20).join(", ")}` : "free";
  const drawn = discs(nodes, "in", "more", nodes.length > 7 ? 5 : 7);
  const said = h("span", { class: "hidden-text" }, spoken);
  if (entry.kind === "room" && nodes.length) {
    const group = entry.holders.find((client) => client.group)?.group ?? "";
    return [h("span", { class: "group" }, drawn, h("span", { class: "group-name" }, group)), said];
  }
  if (entry.kind === "rwlock" && nodes.length) {
    return [...drawn, h("span", { class: "word" }, entry.holders[0].mode === "exclusive" ? "writes" : nodes.length === 1 ? "reads" : "read"), said];
  }
  const slots = entry.kind === "semaphore" ? entry.slots : entry.kind === "mutex" ? 1 : 0;
  const open = Math.max(0, Math.min(slots - nodes.length, 7 - Math.min(nodes.length, 7)));
  const hidden = slots - nodes.length - open;
  return [...drawn, Array.from({ length: open }, free), open > 0 && hidden > 0 && nodes.length <= 7 ? h("span", { class: "more" }, `+ ${count(hidden)} free`) : null, said];
}

function queue(entry) {
  const { waiters } = entry;
  if (waiters.length === 0) return h("span", { class: "quiet" }, "–");
  const nodes = waiters.map((client) => client.node);
  const spoken = h("span", { class: "hidden-text" }, `${many(waiters.length, "request")} waiting, at node ${nodes.slice(0, 20).join(", ")}`);
  const groups = [...new Set(waiters.flatMap((client) => client.groups))];
  const words = entry.kind === "room" ? groups.slice(0, 2).join(", ") + (groups.length > 2 ? ` + ${groups.length - 2}` : "") : entry.kind === "rwlock" && waiters.every((client) => client.mode === "exclusive") ? (waiters.length === 1 ? "writes" : "write") : "";
  return [...discs(nodes, entry.kind === "room" ? "waits other" : "waits", "wait"), words && h("span", { class: entry.kind === "room" ? "group-name" : "word" }, words), spoken];
}
