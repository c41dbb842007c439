// One side of a comparison: which algorithm, its picture at this entry, its counters, its run in time.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { playAddress } from "../play-address.js";
import { go } from "../router.js";
import { count, figure } from "../words.js";
import { Scene } from "./scene.js";
import { Strip } from "./strip.js";

const FIGURES = [["messages", "messages"], ["entries", "entries"], ["each", "messages an entry"], ["words", "words an entry"], ["wait", "mean wait"], ["inside", "inside now"], ["waits", "waiting now"], ["flight", "in flight"]];
/** The player takes no longer runs. */
const MOST_STEPS = 10_000;

export class Half {
  #shown = null;

  /** `side` is "a" or "b"; `choose` is called with the name of another algorithm. */
  constructor(side, chosen, catalogue, choose) {
    this.side = side;
    this.select = h("select", { "aria-label": side === "a" ? "First algorithm" : "Second algorithm", onchange: () => choose(this.select.value) });
    const names = [...catalogue.keys()];
    const known = names.includes(chosen) ? names : [chosen, ...names];
    fill(this.select, known.map((name) => h("option", { selected: name === chosen }, name)));
    this.about = h("p", { class: "quiet" });
    this.play = h("button", { class: "button small", onclick: () => this.#play(), disabled: true }, icon("play", 13), "Play it");
    this.figures = Object.fromEntries(FIGURES.map(([key]) => [key, h("dd", {}, "–")]));
    this.scene = new Scene();
    this.strip = new Strip();
    this.wrong = h("p", { class: "wrong", role: "alert" });
    this.element = h("section", { class: `panel half side-${side}`, "aria-label": side === "a" ? "First run" : "Second run" }, h("div", { class: "bar" }, h("span", { class: `key-line-of ${side === "a" ? "t0" : "t3"}`, "aria-hidden": "true" }), this.select, this.about, this.play), h("div", { class: "moment" }, this.scene.svg, h("dl", { class: "counters" }, FIGURES.map(([key, words]) => h("div", {}, h("dt", {}, words), this.figures[key])))), this.wrong, this.strip.element);
  }

  describe(entry) {
    say(this.about, entry?.title ?? "");
    this.entry = entry;
    // Without tokens and groups, colours are free: a run has that of its lines in the charts.
    this.element.classList.toggle("one-tone", entry?.tokens === "none" && entry.kind !== "group-mutex");
  }

  /** Shows the state at an entry, from 1. */
  update(compared, at) {
    const scene = compared.entries[at - 1]?.[this.side];
    if (!scene) return;
    const { counts } = scene;
    this.at = scene.at;
    this.scene.update(scene, this.entry);
    const side = compared.sides?.[this.side];
    const tell = { messages: count(counts.messages), entries: count(counts.entries), each: figure(counts.messages / counts.entries), words: figure(counts.words / counts.entries), wait: side ? figure(side.means[at - 1]) : "–", inside: count(counts.inside), waits: count(counts.waits), flight: count(scene.flight.length + scene.more_flight) };
    for (const [key, text] of Object.entries(tell)) say(this.figures[key], text);
    this.strip.at(scene.time);
  }

  /** The whole run has arrived. */
  finish(compared) {
    const run = compared.done[this.side];
    this.#shown = run;
    this.strip.show(run);
    this.play.disabled = run.steps.length > MOST_STEPS;
    this.play.title = this.play.disabled ? `The run has ${count(run.steps.length)} steps; the player takes ${count(MOST_STEPS)}` : "";
    say(this.wrong, run.violated ? `Step ${count(run.violated.at)} violates ${run.violated.property}: ${run.violated.detail}.` : "");
  }

  async #play() {
    try {
      go(await playAddress(this.#shown.setting, this.#shown.steps, this.at ?? 0));
    } catch (error) {
      say(this.wrong, error.message);
    }
  }

  leave() {
    this.strip.leave();
  }
}
