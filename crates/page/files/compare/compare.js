// Side by side: two algorithms under one load, in step by entries; below, this run as charts, and the curves of the simulator.

import { announce, fill, h, say, still } from "../dom.js";
import { icon } from "../draw/icons.js";
import { sentence, wrong } from "../live/states.js";
import { server } from "../play/source.js";
import { address, replace } from "../router.js";
import { count } from "../words.js";
import { Chart } from "./chart.js";
import { Curves, versus } from "./curves.js";
import { Half } from "./half.js";
import { ENTRIES, SLIDERS, controls, load, readState, setting } from "./load.js";
import { Compared } from "./run.js";

const SPEEDS = [1, 2, 4, 8, 16];
/** While one drags, the last setting alone is run. */
const PAUSE = 150;
const KEYS = { Space: ["play, pause", "toggle"], ArrowRight: ["next entry", "next"], ArrowLeft: ["entry before", "back"], Home: ["first entry", "first"], End: ["last entry", "end"], T: ["charts as tables", "asTable"] };

export function compareView(root, parameters) {
  const state = readState(parameters);
  const leaving = new AbortController();
  let view = null;
  server.catalogue().then((algorithms) => {
    if (!leaving.signal.aborted) view = new Comparison(root, state, new Map(algorithms.map((it) => [it.name, it])));
  }, (error) => leaving.signal.aborted || wrong(root, "There is nothing to compare", sentence(error.message)));
  const keys = Object.entries(KEYS).map(([name, [words, act]]) => ({ name, words, call: () => view?.[act]() }));
  return { title: "Compare", keys, ownKeys: true, leave: () => (leaving.abort("left"), view?.leave()) };
}

class Comparison {
  #compared = null;
  #stop = new AbortController();
  #timer = null;
  #at = 1;
  #speed = 4;
  #tables = false;
  #queued = null;

  constructor(root, state, catalogue) {
    Object.assign(this, { state, catalogue });
    this.halves = ["a", "b"].map((side) => new Half(side, state[side], catalogue, (name) => this.#change(side, name)));
    this.curves = new Curves(state, catalogue, (key, value) => this.#curve(key, value));
    this.charts = { messages: new Chart("Messages so far", "by entry"), waits: new Chart("Wait of each entry", "in simulated time"), inside: new Chart("Inside over time", "mean of each 30th of the run") };
    this.versus = h("section", { class: "panel versus-panel", "aria-label": "Both runs as a whole" }, h("div", { class: "bar" }, h("h2", {}, "Both runs as a whole"), h("p", { class: "quiet" }, `${ENTRIES} entries`)));
    this.trouble = h("p", { class: "wrong compare-trouble", role: "alert" });
    this.share = h("button", { class: "button", onclick: () => this.#share() }, icon("copy", 14), h("span", {}, "Copy link"));
    this.table = h("button", { class: "button small", "aria-pressed": false, onclick: () => this.asTable() }, "As tables");
    const about = h("p", { class: "quiet" }, "two algorithms, one load");
    root.append(h("div", { class: "view compare", "data-side": "a" }, h("div", { class: "load" }, h("div", { class: "load-title" }, h("h1", {}, "The same load"), about), controls(state, (key, value) => this.#change(key, value)), this.share), this.trouble, this.#switch(root), this.halves.map((half) => half.element), this.#transport(), h("div", { class: "row-title" }, h("h2", {}, "This run"), this.table), Object.values(this.charts).map((chart) => chart.element), this.curves.bar, this.versus, this.curves.elements));
    this.#describe();
    this.#mark();
    this.#run(state.at === null && !still());
  }

  /** On small screens one side at a time is shown. */
  #switch(root) {
    const buttons = ["a", "b"].map((side) => h("button", { class: "chip", "aria-pressed": side === "a", onclick: () => {
      root.querySelector(".compare").dataset.side = side;
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", ["a", "b"][index] === side));
    } }, this.state[side]));
    this.switches = buttons;
    return h("div", { class: "chips side-switch", role: "group", "aria-label": "Which run" }, buttons);
  }

  #transport() {
    const button = (name, words, act) => h("button", { class: "round", "aria-label": words, title: words, onclick: act }, icon(name, 18));
    this.playButton = h("button", { class: "play", onclick: () => this.toggle() }, icon("play", 18));
    this.where = h("span", { class: "where-now" });
    this.scrub = h("input", { type: "range", class: "scrub", min: 1, max: ENTRIES, step: 1, value: 1, "aria-label": "Entry", oninput: () => this.#go(Number(this.scrub.value)) });
    const speed = h("select", { "aria-label": "Speed", onchange: () => {
      this.#speed = Number(speed.value);
      if (this.#timer) this.#play();
    } }, SPEEDS.map((it) => h("option", { value: it, selected: it === this.#speed }, it === 1 ? "1 entry a second" : `${it} entries a second`)));
    return h("div", { class: "transport" }, button("first", "First entry", () => this.first()), this.playButton, button("last", "Last entry", () => this.end()), this.where, this.scrub, h("span", { class: "quiet" }, "speed"), speed);
  }

  #describe() {
    ["a", "b"].forEach((side, index) => {
      this.halves[index].describe(this.catalogue.get(this.state[side]));
      say(this.switches[index], this.state[side]);
    });
  }

  #change(key, value) {
    this.state[key] = value;
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
    const query = Object.fromEntries(SLIDERS.filter(({ key, start }) => this.state[key] !== start || ["n", "k", "rate", "cs"].includes(key)).map(({ key }) => [key, String(this.state[key])]));
    const y = this.curves.measures.join(",");
    replace(address(`compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`, { ...query, delay: delay === "constant" ? "" : delay, seed: String(seed), at: String(this.#at), over: over === "rate" ? "" : over, y: y === "messages_per_entry,time_to_enter" ? "" : y }));
  }

  /** Runs both anew. What was shown stays until the first entry of the new runs. */
  async #run(plays) {
    this.#stop.abort("left");
    const stop = (this.#stop = new AbortController());
    const { state } = this;
    const compared = new Compared({ a: setting(state.a, state, this.catalogue), b: setting(state.b, state, this.catalogue), load: { ...load(state), entries: ENTRIES }, seed: state.seed });
    const wanted = plays ? 1 : state.at ?? ENTRIES;
    try {
      await compared.ask(stop.signal, () => {
        const first = this.#compared !== compared;
        this.#compared = compared;
        say(this.trouble, "");
        if (first || !this.#timer) this.#show(Math.min(wanted, compared.entries.length));
        if (first && plays) this.#play();
        this.scrub.max = String(Math.max(1, compared.entries.length));
      });
      if (stop.signal.aborted) return;
      this.#finish(compared);
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#pause();
      say(this.trouble, `${sentence(error.message)}${this.#compared ? " The last comparison stays below." : ""}`);
    }
    if (!stop.signal.aborted) this.curves.start();
  }

  #finish(compared) {
    for (const half of this.halves) half.finish(compared);
    this.versus.lastChild.matches("table") && this.versus.lastChild.remove();
    this.versus.append(versus(compared));
    this.#show(this.#at);
  }

  #show(at) {
    const compared = this.#compared;
    if (!compared?.entries.length) return;
    this.#at = Math.max(1, Math.min(at, compared.entries.length));
    const total = compared.done ? compared.entries.length : ENTRIES;
    for (const half of this.halves) half.update(compared, this.#at);
    this.scrub.value = String(this.#at);
    this.scrub.setAttribute("aria-valuetext", `entry ${this.#at} of ${total}`);
    fill(this.where, h("strong", {}, `Entry ${count(this.#at)}`), ` of ${count(total)}`);
    this.#draw(compared);
  }

  #draw(compared) {
    const names = { a: compared.request.a.algorithm, b: compared.request.b.algorithm };
    const line = (points, kind) => ["a", "b"].map((side) => ({ name: names[side], points: points(side), kind }));
    const x = { words: "entry", least: 1, most: Math.max(2, compared.entries.length), ticks: [1, compared.entries.length] };
    this.charts.messages.show({ title: "Messages so far, by entry", x, mark: this.#at, lines: line((side) => compared.entries.map((it) => [it.entry, it[side].counts.messages])) });
    if (!compared.sides) return;
    this.charts.waits.show({ title: "Wait of each entry", x, mark: this.#at, named: false, lines: line((side) => compared.sides[side].waits.slice(0, compared.entries.length).map((wait, index) => [index + 1, wait]), "points") });
    const end = Math.max(...["a", "b"].map((side) => compared.done[side].times.at(-1) ?? 1));
    this.charts.inside.show({ title: "Inside over time", x: { words: "time", least: 0, most: end }, mark: compared.entries[this.#at - 1].a.time, named: false, lines: line((side) => compared.sides[side].inside) });
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
    if (this.#timer) {
      this.#pause();
      this.state.at = this.#at;
      this.#remember();
    } else this.#play();
  }

  #play() {
    clearInterval(this.#timer);
    if (this.#compared?.done && this.#at >= this.#compared.entries.length) this.#show(1);
    this.#timer = setInterval(() => {
      const { done, entries } = this.#compared;
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
    for (const chart of Object.values(this.charts)) chart.asTable(this.#tables);
    this.curves.asTable(this.#tables);
    announce(this.#tables ? "Charts are shown as tables" : "Charts are shown as lines");
  }

  async #share() {
    this.state.at = this.#at;
    this.#remember();
    try {
      await navigator.clipboard.writeText(location.href);
      say(this.share.lastChild, "Copied");
    } catch {
      // Without a secure connection there is no clipboard; the address of the page is the link.
      say(this.share.lastChild, "The address is the link");
    }
    setTimeout(() => say(this.share.lastChild, "Copy link"), 3000);
  }

  leave() {
    this.#stop.abort("left");
    clearTimeout(this.#queued);
    clearInterval(this.#timer);
    this.curves.leave();
    for (const half of this.halves) half.leave();
    for (const chart of Object.values(this.charts)) chart.leave();
  }
}
