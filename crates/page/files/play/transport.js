// The transport: to the start, back, play, on, to the end; the number of the step; how fast; and letting the run go on by itself.

import { fill, h, say, set } from "../dom.js";
import { icon } from "../draw/icons.js";
import { count, many } from "../words.js";
import { SPEEDS } from "./model.js";

/** So many steps the run goes on by itself at once. */
const RUN_ON = 20;
const pace = (speed) => (speed < 1 ? "1 in 2 s" : `${count(speed)} a second`);

export class Transport {
  constructor(run, on) {
    this.run = run;
    const button = (name, words, key, call, kind = "round") => h("button", { class: `transport-button ${kind}`, "aria-label": words, title: `${words} (${key})`, onclick: call }, icon(name, 18));
    this.first = button("begin", "To the start", "Home", () => (run.pause(), run.go(0)));
    this.back = button("back", "Back", "←", () => run.step(-1));
    this.play = button("play", "Play", "Space", () => this.toggle(), "button main play");
    this.next = button("step", "Step", "→", () => this.step());
    this.last = button("end", "To the end", "End", () => (run.pause(), run.go(run.last)));
    this.input = h("input", { type: "number", class: "step-input", min: 0, inputmode: "numeric", "aria-label": "Step", onchange: () => (run.pause(), run.go(Number(this.input.value))) });
    this.total = h("span", { class: "quiet" });
    this.branches = h("button", { class: "link-button", title: "branches of this run (B)", onclick: on.branches }, icon("branch"), h("span", {}));
    this.on = h("button", { class: "button run-on", title: `Let the run go on by ${RUN_ON} steps: the seed decides`, onclick: () => this.runOn() }, `Run on ${RUN_ON}`);
    this.speed = h("select", { "aria-label": "Speed", onchange: () => run.setSpeed(Number(this.speed.value)) }, SPEEDS.map((speed) => h("option", { value: speed }, pace(speed))));
    this.element = h("section", { class: "deck", "aria-label": "Transport" }, h("div", { class: "transport-keys" }, this.first, this.back, this.play, this.next, this.last), h("label", { class: "step-number" }, h("b", {}, "Step"), this.input, this.total), this.branches);
    /** On a phone these stand elsewhere. */
    this.more = [run.canAct && this.on, h("label", { class: "knob speed" }, h("span", {}, "speed"), this.speed)].filter(Boolean);
  }

  toggle() {
    if (this.run.playing) this.run.pause();
    else this.run.play();
  }

  /** One step on; at the end the run goes on by itself. */
  async step() {
    const { run } = this;
    run.pause();
    if (run.at === run.last && run.canAct && !(await run.auto(1))) return;
    await run.go(run.at + 1);
  }

  async runOn() {
    const { run } = this;
    run.pause();
    if (await run.auto(RUN_ON)) await run.go(run.last);
  }

  faster(by) {
    const { run } = this;
    const index = SPEEDS.indexOf(run.speed);
    run.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, index + by))]);
  }

  update() {
    const { run } = this;
    const words = run.playing ? "Pause" : "Play";
    if (this.play.dataset.words !== words) {
      this.play.dataset.words = words;
      fill(this.play, icon(words.toLowerCase(), 18));
      set(this.play, { "aria-label": words, title: `${words} (Space)` });
    }
    const end = run.at >= run.last;
    [this.first.disabled, this.back.disabled, this.last.disabled] = [run.at === 0, run.at === 0, end];
    this.next.disabled = this.play.disabled = end && !run.canAct;
    if (document.activeElement !== this.input) this.input.value = run.at;
    this.input.max = run.last;
    say(this.total, `of ${count(run.last)}`);
    const others = run.branches.length;
    // A run that only plays has no branches to take up.
    this.branches.hidden = !run.canAct;
    say(this.branches.lastChild, others ? many(others, "branch", "branches") : `seed ${run.setting?.seed ?? 0}`);
    this.speed.value = String(run.speed);
  }
}
