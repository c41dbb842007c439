// The curves of both algorithms, by the simulator, while one drags. A point is one request: what is known is drawn at once, and a
// new setting ends what the old one still asks.

import { ask } from "../ask.js";
import { h, say } from "../dom.js";
import { sentence } from "../live/states.js";
import { count } from "../words.js";
import { Chart } from "./chart.js";
import { SLIDERS, load, setting } from "./load.js";

export const MEASURES = {
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
const SEEDS = 5;
const PAUSE = 250;
/** Points that were asked once are kept: the same number comes from the same setting, always. */
const kept = new Map();
const MOST_KEPT = 4000;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** The middle and the ends first, so that the shape is soon there. */
function coarse(values) {
  const order = [];
  for (let step = 8; step >= 1; step /= 2) for (let at = 0; at < values.length; at += step) if (!order.includes(values[at])) order.push(values[at]);
  return order;
}

export class Curves {
  #stop = new AbortController();
  #points = new Map();
  #refused = new Map();

  constructor(state, catalogue, changed) {
    this.state = state;
    this.catalogue = catalogue;
    const pick = (at) => {
      const select = h("select", { "aria-label": at ? "Measure of the second curve" : "Measure of the first curve", onchange: () => {
        this.measures[at] = select.value;
        changed("y", this.measures);
        this.draw();
      } }, Object.entries(MEASURES).map(([key, words]) => h("option", { value: key, selected: key === this.measures[at] }, words)));
      return select;
    };
    this.measures = ["messages_per_entry", "time_to_enter"].map((usual, at) => (state.y[at] in MEASURES ? state.y[at] : usual));
    this.over = h("select", { id: "over", onchange: () => changed("over", this.over.value) }, SLIDERS.map(({ key, words }) => h("option", { value: key, selected: key === state.over }, words)));
    this.charts = [new Chart(pick(0), "First curve"), new Chart(pick(1), "Second curve")];
    this.progress = h("p", { class: "quiet progress", role: "status" });
    this.wrong = h("p", { class: "wrong", role: "alert" });
    this.bar = h("div", { class: "row-title" }, h("h2", {}, "Curves, by the simulator"), h("label", { for: "over", class: "quiet" }, "over"), this.over, this.progress, this.wrong);
  }

  #slider() {
    return SLIDERS.find(({ key }) => key === this.state.over);
  }

  /** The request of a point. Sizes are parts of the setting, everything else of the load. */
  #request(side, value) {
    const { over } = this.state;
    const at = { ...this.state, [over]: value };
    return JSON.stringify({ ...setting(this.state[side], at, this.catalogue), seed: this.state.seed, load: load(at), over: "rate", values: [at.rate], measures: Object.keys(MEASURES), seeds: SEEDS });
  }

  /** Asks for all points of the setting, unless another setting comes first. */
  async start(delay = PAUSE) {
    this.#stop.abort("left");
    const stop = (this.#stop = new AbortController());
    this.#points.clear();
    this.#refused.clear();
    say(this.wrong, "");
    // More tokens than nodes are refused: the curve has no such points.
    const { over, n, k } = this.state;
    const values = this.#slider().curve.filter((value) => (over === "n" ? value >= k : over !== "k" || value <= n));
    const todo = coarse(values).flatMap((value) => ["a", "b"].map((side) => ({ side, value, body: this.#request(side, value) })));
    const open = todo.filter(({ side, value, body }) => {
      if (kept.has(body)) this.#points.set(`${side}${value}`, kept.get(body));
      return !kept.has(body);
    });
    this.draw();
    const tell = (left) => say(this.progress, left ? `${count(todo.length - left)} of ${count(todo.length)} points, ${SEEDS} seeds each` : `${SEEDS} seeds a point; the band is the standard error`);
    tell(open.length);
    if (open.length) await wait(delay);
    for (let at = 0; at < open.length && !stop.signal.aborted; at += 1) {
      await this.#ask(open[at], stop.signal);
      if (stop.signal.aborted) return;
      tell(open.length - at - 1);
      this.draw();
    }
  }

  async #ask({ side, value, body }, signal) {
    for (let again = 0; !signal.aborted; again += 1) {
      try {
        const { curves } = await ask("/player/curve", { method: "POST", body, signal, limit: 120_000 });
        const point = Object.fromEntries(curves.map(({ measure, points }) => [measure, points[0]]));
        if (kept.size > MOST_KEPT) kept.clear();
        kept.set(body, point);
        this.#points.set(`${side}${value}`, point);
        return;
      } catch (error) {
        if (signal.aborted) return;
        // The server does two such works at once; another page may have both.
        if (error.status === 503 && again < 20) {
          await wait(500 + 250 * again);
          continue;
        }
        if (!this.#refused.has(side)) this.#refused.set(side, `${this.state[side]}: ${error.message}`);
        say(this.wrong, [...this.#refused.values()].map(sentence).join(" "));
        return;
      }
    }
  }

  draw() {
    const { curve, words, log, key } = this.#slider();
    this.charts.forEach((chart, index) => {
      const measure = this.measures[index];
      const line = (side) => ({ name: this.state[side], kind: "points", points: curve.map((value) => {
        const point = this.#points.get(`${side}${value}`)?.[measure];
        return [value, point?.[1] ?? null, point?.[2] ?? null];
      }) });
      say(chart.about, `over ${words}`);
      chart.show({ title: `${MEASURES[measure]} over ${words}`, x: { words, log, least: curve[0], most: curve.at(-1), ticks: log ? [0.01, 0.1, 1] : [curve[0], curve.at(-1)] }, mark: this.state[key], lines: [line("a"), line("b")] });
    });
  }

  get elements() {
    return this.charts.map((chart) => chart.element);
  }

  asTable(on) {
    for (const chart of this.charts) chart.asTable(on);
  }

  leave() {
    this.#stop.abort("left");
    for (const chart of this.charts) chart.leave();
  }
}

/** The figures of both runs as bars that grow from the middle; the better one is bold. */
export function versus(compared) {
  const rows = [["messages an entry", "messages_per_entry"], ["words an entry", "words_per_entry"], ["mean wait", "mean_wait"], ["p99 wait", "p99_wait"]];
  const { a, b } = compared.done;
  const bar = (side, share) => {
    const element = h("span", { class: `versus-bar ${side === "a" ? "t0" : "t3"}`, "aria-hidden": "true" });
    element.style.width = `${Math.max(2, share * 100).toFixed(1)}%`;
    return h("span", { class: "versus-track" }, element);
  };
  return h(
    "table",
    { class: "versus" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, a.setting.algorithm), h("td", {}), h("th", { scope: "col" }, b.setting.algorithm))),
    h("tbody", {}, rows.map(([words, key]) => {
      const most = Math.max(a[key], b[key]) || 1;
      const number = (value, other) => h(value < other ? "strong" : "span", {}, tidy3(value));
      return h("tr", {}, h("td", { class: "left-side" }, h("div", {}, number(a[key], b[key]), bar("a", a[key] / most))), h("th", { scope: "row" }, words), h("td", {}, h("div", {}, bar("b", b[key] / most), number(b[key], a[key]))));
    })),
  );
}

const tidy3 = (value) => (value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3))));

