// Side by side: two algorithms under one load, in step by entries; below, this run as charts, and the curves of the simulator.

import { announce, fill, h, say, still } from "../dom.js";
import { icon } from "../draw/icons.js";
import { sentence, wrong } from "../live/states.js";
import { server } from "../play/source.js";
import { address, replace } from "../router.js";
import { count, many } from "../words.js";
import { Chart } from "./chart.js";
import { Curves } from "./curves.js";
import { Half } from "./half.js";
import { FIELDS, SLIDERS, controls, fieldsOf, follow, load, put, readState, setting } from "./load.js";
import { Compared } from "./run.js";
import { versus } from "./versus.js";

const SIDES = ["a", "b"];
/** While one drags, the last setting alone is run. */
const PAUSE = 150;
/** Entries that come in are drawn this often at most. */
const SOON = 60;
const KEYS = { Space: ["play, pause", "toggle"], ArrowRight: ["next entry", "next"], ArrowLeft: ["entry before", "back"], Home: ["first entry", "first"], End: ["last entry", "end"], T: ["charts as tables", "asTable"] };

export function compareView(root, parameters) {
  let [view, gone] = [null, false];
  server.catalogue().then((all) => {
    if (!gone) view = new Comparison(root, readState(parameters), new Map(all.map((it) => [it.name, it])));
  }).catch((error) => gone || wrong(root, "There is nothing to compare", sentence(error.message)));
  return {
    title: "Compare",
    keys: Object.entries(KEYS).map(([name, [words, act]]) => ({ name, words, call: () => view?.[act]() })),
    ownKeys: true,
    leave() {
      gone = true;
      view?.leave();
    },
  };
}

class Comparison {
  #compared = null;
  #stop = new AbortController();
  #timer = null;
  #queued = null;
  #at = 1;
  #speed = 4;
  #tables = false;

  constructor(root, state, catalogue) {
    Object.assign(this, { state, catalogue, followed: follow(state, "n", catalogue) });
    this.halves = SIDES.map((side) => new Half(side, state[side], catalogue, (name) => this.#change(side, name)));
    this.curves = new Curves(state, catalogue, (key, value) => this.#curve(key, value));
    this.run = { messages: new Chart("Messages so far", "by entry"), waits: new Chart("Wait of each entry", "in simulated time"), inside: new Chart("Inside over time", "mean of each 30th of the run") };
    this.charts = [...Object.values(this.run), ...this.curves.charts];
    this.whole = h("div", {});
    this.number = h("p", { class: "quiet" });
    this.trouble = h("p", { class: "wrong compare-trouble", role: "alert" });
    this.differs = h("p", { class: "amber compare-trouble", role: "status" });
    this.share = h("button", { class: "button small", onclick: () => this.#share() }, icon("copy", 14), h("span", {}, "Copy link"));
    this.table = h("button", { class: "button small", "aria-pressed": false, onclick: () => this.asTable() }, "As tables");
    // On small screens one side at a time is shown.
    this.switches = SIDES.map((side) => h("button", { class: "chip", onclick: () => this.#side(side) }));
    this.element = h(
      "div",
      { class: "view compare" },
      h("div", { class: "load" }, h("div", { class: "load-title" }, h("h1", {}, "The same load"), this.share), controls(state, (key, value) => this.#change(key, value))),
      this.differs,
      this.trouble,
      h("div", { class: "chips side-switch", role: "group", "aria-label": "Which run" }, this.switches),
      this.halves.map((half) => half.element),
      this.#transport(),
      h("div", { class: "row-title" }, h("h2", {}, "This run"), this.table),
      Object.values(this.run).map((chart) => chart.element),
      this.curves.bar,
      h("section", { class: "panel versus-panel", "aria-label": "Both runs as a whole" }, h("div", { class: "bar" }, h("h2", {}, "Both runs as a whole"), this.number), this.whole),
      this.curves.charts.map((chart) => chart.element),
    );
    root.append(this.element);
    this.#side("a");
    this.#describe();
    this.#mark();
    this.#run(state.at === null && !still());
  }

  #side(side) {
    this.element.dataset.side = side;
    this.switches.forEach((button, index) => button.setAttribute("aria-pressed", SIDES[index] === side));
  }

  #transport() {
    const button = (name, words, act) => h("button", { class: "round", "aria-label": words, title: words, onclick: act }, icon(name, 18));
    this.playButton = h("button", { class: "play", onclick: () => this.toggle() });
    this.where = h("span", { class: "where-now" });
    this.scrub = h("input", { type: "range", class: "scrub", min: 1, max: 1, value: 1, "aria-label": "Entry", oninput: () => this.#go(Number(this.scrub.value)) });
    const speed = h("select", { "aria-label": "Speed", onchange: () => {
      this.#speed = Number(speed.value);
      if (this.#timer) this.#play();
    } }, [1, 2, 4, 8, 16].map((it) => h("option", { value: it, selected: it === this.#speed }, it === 1 ? "1 entry a second" : `${it} entries a second`)));
    return h("div", { class: "transport" }, button("first", "First entry", () => this.first()), this.playButton, button("last", "Last entry", () => this.end()), this.where, this.scrub, h("span", { class: "quiet" }, "speed"), speed);
  }

  #describe() {
    SIDES.forEach((side, index) => {
      this.halves[index].describe(this.catalogue.get(this.state[side]));
      say(this.switches[index], this.state[side]);
    });
    // Only some algorithms serve several clients of a node: more clients ask more often.
    const { a, b, clients } = this.state;
    const several = (name) => Boolean(this.catalogue.get(name)?.many_clients);
    const [one, more] = several(a) ? [b, a] : [a, b];
    const { followed } = this;
    say(this.differs, [followed && `${followed} is ${this.state[followed]} now: there are no more tokens than nodes.`, clients > 1 && several(a) !== several(b) && `${one} has one client a node, and ${more} ${clients}: their loads differ.`].filter(Boolean).join(" "));
    // What neither algorithm has would change nothing.
    for (const { key, of } of [...SLIDERS, ...FIELDS]) if (of) this.element.querySelector(`[data-field="${key}"]`).hidden = !SIDES.some((side) => of(this.catalogue.get(this.state[side]), this.state[side]));
  }

  #change(key, value) {
    this.state[key] = value;
    this.followed = follow(this.state, key, this.catalogue);
    if (this.followed) put(this.element, this.followed, this.state[this.followed]);
    this.#describe();
    this.#remember();
    clearTimeout(this.#queued);
    this.#queued = setTimeout(() => this.#run(this.#timer !== null), PAUSE);
    this.curves.draw();
  }

  #curve(key, value) {
    this.state[key] = value;
    this.#remember();
    if (key === "over") this.curves.start(0);
  }

  #remember() {
    const { a, b, delay, seed, over } = this.state;
    const query = Object.fromEntries(SLIDERS.map(({ key }) => [key, String(this.state[key])]));
    replace(address(`compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`, { ...query, ...fieldsOf(this.state), delay: delay === "constant" ? "" : delay, seed: String(seed), at: String(this.#at), over: over === "rate" ? "" : over, y: this.curves.y }));
  }

  /** Runs both anew. What was shown stays until the first entry of the new runs. */
  async #run(plays) {
    this.#stop.abort("left");
    this.curves.leave();
    const { signal } = (this.#stop = new AbortController());
    const { state } = this;
    const compared = new Compared({ a: setting(state.a, state, this.catalogue), b: setting(state.b, state, this.catalogue), load: { ...load(state), entries: state.entries }, seed: state.seed });
    const aim = () => state.at ?? state.entries;
    let drawn = 0;
    try {
      await compared.ask(signal, () => {
        const first = this.#compared !== compared;
        this.#compared = compared;
        say(this.trouble, "");
        this.scrub.max = String(Math.max(1, compared.entries.length));
        if (first || (!this.#timer && performance.now() > drawn + SOON)) {
          this.#show(first && plays ? 1 : aim());
          drawn = performance.now();
        }
        if (first && plays) this.#play();
      });
      if (signal.aborted) return;
      for (const half of this.halves) half.finish(compared);
      fill(this.whole, versus(compared.done));
      say(this.number, many(compared.entries.length, "entry", "entries"));
      this.#show(this.#timer ? this.#at : aim());
    } catch (error) {
      if (signal.aborted) return;
      this.#pause();
      say(this.trouble, `${sentence(error.message)}${this.#compared ? " The last comparison stays below." : ""}`);
    }
    this.curves.start();
  }

  #show(at) {
    const compared = this.#compared;
    if (!compared?.entries.length) return;
    this.#at = Math.max(1, Math.min(at, compared.entries.length));
    const total = compared.done ? compared.entries.length : compared.request.load.entries;
    for (const half of this.halves) half.update(compared, this.#at);
    this.scrub.value = String(this.#at);
    this.scrub.setAttribute("aria-valuetext", `entry ${this.#at} of ${total}`);
    fill(this.where, h("strong", {}, `Entry ${count(this.#at)}`), ` of ${count(total)}`);
    const { sides, entries, done, request } = compared;
    const lines = (points) => SIDES.map((side) => ({ name: request[side].algorithm, points: points(side) }));
    const x = { words: "entry", least: 1, most: Math.max(2, entries.length) };
    this.run.messages.show({ title: "Messages so far, by entry", x, mark: this.#at, lines: lines((side) => entries.map((it) => [it.entry, it[side].counts.messages])) });
    if (!sides) return;
    this.run.waits.show({ title: "Wait of each entry", x, mark: this.#at, named: false, dots: entries.length <= 150, lines: lines((side) => entries.map((it, index) => [it.entry, sides[side].waits[index] ?? null])) });
    const most = Math.max(...SIDES.map((side) => done[side].times.at(-1) ?? 1));
    this.run.inside.show({ title: "Inside over time", x: { words: "time", least: 0, most }, mark: SIDES.map((side) => entries[this.#at - 1][side].time), named: false, lines: lines((side) => sides[side].inside) });
  }

  next = () => this.#go(this.#at + 1);
  back = () => this.#go(this.#at - 1);
  first = () => this.#go(1);
  end = () => this.#go(Infinity);

  #go(at) {
    this.#pause();
    this.#show(at);
    this.state.at = this.#at;
    this.#remember();
  }

  toggle() {
    if (this.#timer) this.#go(this.#at);
    else this.#play();
  }

  #play() {
    clearInterval(this.#timer);
    if (this.#compared?.done && this.#at >= this.#compared.entries.length) this.#show(1);
    this.#timer = setInterval(() => {
      const { done, entries } = this.#compared ?? { entries: [] };
      if (this.#at < entries.length) this.#show(this.#at + 1);
      else if (done) this.toggle();
    }, 1000 / this.#speed);
    this.#mark();
  }

  #pause() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#mark();
  }

  #mark() {
    fill(this.playButton, icon(this.#timer ? "pause" : "play", 18));
    this.playButton.setAttribute("aria-label", this.#timer ? "Pause" : "Play");
  }

  asTable() {
    this.#tables = !this.#tables;
    this.table.setAttribute("aria-pressed", this.#tables);
    for (const chart of this.charts) chart.asTable(this.#tables);
    announce(`Charts are shown as ${this.#tables ? "tables" : "lines"}`);
  }

  async #share() {
    this.#go(this.#at);
    // Without a secure connection there is no clipboard.
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    say(this.share.lastChild, copied ? "Copied" : "The address is the link");
    setTimeout(() => say(this.share.lastChild, "Copy link"), 3000);
  }

  leave() {
    this.#stop.abort("left");
    clearTimeout(this.#queued);
    clearInterval(this.#timer);
    for (const part of [this.curves, ...this.halves, ...this.charts]) part.leave();
  }
}
