// The curves of both algorithms, by the simulator, while one drags. A point is one request: what is known is drawn at once, and a
// new setting ends what the old one still asks.

import { ask } from "../ask.js";
import { h, say } from "../dom.js";
import { sentence } from "../live/states.js";
import { count } from "../words.js";
import { Chart } from "./chart.js";
import { SLIDERS, load, setting } from "./load.js";

const MEASURES = {
  messages_per_entry: "Messages an entry",
  time_to_enter: "Mean wait",
  time_to_enter_p99: "p99 wait",
  words_per_entry: "Words an entry",
  sync_delay: "Synchronisation delay",
  response_time: "Response time",
  throughput: "Entries per unit of time",
  concurrency: "Inside on average",
  fairness: "Fairness",
};
const USUAL = ["messages_per_entry", "time_to_enter"];
const SEEDS = 5;
/** Points are kept: the same setting always gives the same numbers. */
const kept = new Map();
const MOST_KEPT = 4000;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** A part of the points first, so that the shape is soon there. */
const coarse = (values) => [...new Set([8, 4, 2, 1].flatMap((step) => values.filter((_, at) => at % step === 0)))];

export class Curves {
  #stop = new AbortController();
  #points = new Map();

  constructor(state, catalogue, changed) {
    Object.assign(this, { state, catalogue });
    this.measures = USUAL.map((usual, at) => (state.y[at] in MEASURES ? state.y[at] : usual));
    this.charts = ["First curve", "Second curve"].map((name, at) => {
      const select = h("select", { "aria-label": `Measure of the ${name.toLowerCase()}`, onchange: () => {
        this.measures[at] = select.value;
        changed("y", this.measures);
        this.draw();
      } }, Object.entries(MEASURES).map(([key, words]) => h("option", { value: key, selected: key === this.measures[at] }, words)));
      return new Chart(select, name);
    });
    const over = h("select", { id: "over", onchange: () => changed("over", over.value) }, SLIDERS.map(({ key, words }) => h("option", { value: key, selected: key === state.over }, words)));
    this.progress = h("p", { class: "quiet progress", role: "status" });
    this.wrong = h("p", { class: "wrong", role: "alert" });
    this.bar = h("div", { class: "row-title" }, h("h2", {}, "The whole runs, and curves by the simulator"), h("label", { for: "over", class: "quiet" }, "over"), over, this.progress, this.wrong);
  }

  /** The measures as an address has them; nothing if they are the usual ones. */
  get y() {
    return String(this.measures) === String(USUAL) ? "" : String(this.measures);
  }

  #slider() {
    return SLIDERS.find(({ key }) => key === this.state.over);
  }

  /** The request of a point. Sizes are parts of the setting, everything else of the load; so the server varies nothing. */
  #request(side, value) {
    const at = { ...this.state, [this.state.over]: value };
    return JSON.stringify({ ...setting(at[side], at, this.catalogue), seed: at.seed, load: load(at), over: "rate", values: [at.rate], measures: Object.keys(MEASURES), seeds: SEEDS });
  }

  /** Asks for all points of the setting, unless another setting comes first. */
  async start(delay = 250) {
    this.#stop.abort("left");
    const { signal } = (this.#stop = new AbortController());
    this.#points.clear();
    say(this.wrong, "");
    // More tokens than nodes are refused: the curve has no such points.
    const { over, n, k } = this.state;
    const values = this.#slider().curve.filter((value) => (over === "n" ? value >= k : over !== "k" || value <= n));
    const all = coarse(values).flatMap((value) => ["a", "b"].map((side) => ({ side, value, body: this.#request(side, value) })));
    for (const { side, value, body } of all) if (kept.has(body)) this.#points.set(side + value, kept.get(body));
    const todo = all.filter(({ body }) => !kept.has(body));
    this.refused = new Set();
    for (let left = todo.length; ; left -= 1) {
      say(this.progress, left ? `${count(all.length - left)} of ${count(all.length)} points, ${SEEDS} seeds each` : `${SEEDS} seeds a point; the band is the standard error`);
      this.draw();
      if (left === 0) return;
      if (left === todo.length) await wait(delay);
      const point = todo[todo.length - left];
      // A load that one point cannot have, the others cannot have either.
      if (!this.refused.has(point.side)) await this.#ask(point, signal);
      if (signal.aborted) return;
    }
  }

  async #ask({ side, value, body }, signal) {
    for (let again = 0; !signal.aborted; again += 1) {
      try {
        const { curves } = await ask("/player/curve", { method: "POST", body, signal });
        if (kept.size > MOST_KEPT) kept.clear();
        kept.set(body, Object.fromEntries(curves.map(({ measure, points }) => [measure, points[0]])));
        this.#points.set(side + value, kept.get(body));
        return;
      } catch (error) {
        if (signal.aborted) return;
        // The server does two such works at once; another page may have both.
        if (error.status === 503 && again < 20) {
          await wait(500);
          continue;
        }
        this.refused.add(side);
        return say(this.wrong, sentence(`${this.state[side]}: ${error.message}`));
      }
    }
  }

  draw() {
    const { curve, words, log, key } = this.#slider();
    this.charts.forEach((chart, index) => {
      const measure = this.measures[index];
      const lines = ["a", "b"].map((side) => ({ name: this.state[side], points: curve.map((value) => this.#points.get(side + value)?.[measure].with(0, value) ?? [value, null]) }));
      say(chart.about, `over ${words}`);
      chart.show({ title: `${MEASURES[measure]} over ${words}`, x: { words, log, least: curve[0], most: curve.at(-1), ticks: log && [0.01, 0.1, 1] }, mark: this.state[key], dots: true, lines });
    });
  }

  leave() {
    this.#stop.abort("left");
  }
}
