// The run in time below its picture: the past up to the playhead, and a little of the future, at 30 %.

import { fill, h, s } from "../dom.js";
import { lines } from "../gallery/outline.js";

const HEIGHT = 146;
const LEFT = 28;
/** The strip shows about so many entries. */
const ENTRIES = 16;
/** Where the playhead stands. */
const HEAD = 0.82;

export class Strip {
  #run = null;
  #time = 0;
  #width = 0;

  constructor() {
    this.moving = s("g", {});
    this.fixed = s("g", {});
    this.svg = s("svg", { class: "run strip-run", height: HEIGHT, "aria-hidden": "true" });
    this.element = h("div", { class: "strip-box" }, this.svg);
    this.watch = new ResizeObserver(() => this.svg.clientWidth && this.svg.clientWidth !== this.#width && this.#build());
    this.watch.observe(this.element);
  }

  /** A whole run: {outline, times, entries}. */
  show(run) {
    this.#run = run;
    this.#build();
  }

  at(time) {
    this.#time = time;
    this.#move();
  }

  #build() {
    this.#width = this.svg.clientWidth;
    if (!this.#run || !this.#width) return;
    const { outline, times, entries } = this.#run;
    const span = ((times.at(-1) ?? 1) / Math.max(1, entries)) * ENTRIES || 1;
    this.scale = (this.#width - LEFT - 8) / span;
    const gap = (HEIGHT - 8) / outline.nodes;
    const y = (node) => 4 + gap * (node + 0.5);
    const thick = Math.max(2, Math.min(8, gap * 0.55));
    const x = (step) => (step ? times[step - 1] : 0) * this.scale;
    fill(this.moving, lines(outline, { x, y, end: x(times.length), cap: thick / 2 }));
    const head = LEFT + (this.#width - LEFT - 8) * HEAD;
    const names = gap >= 9 ? Array.from({ length: outline.nodes }, (_, node) => s("text", { class: "run-node", x: LEFT - 10, y: y(node) }, String(node))) : [];
    fill(this.fixed, s("rect", { class: "run-future", x: head, y: 0, width: this.#width - head, height: HEIGHT }), s("path", { class: "run-now", d: `M${head} 2V${HEIGHT - 2}` }), s("rect", { class: "run-margin", x: 0, y: 0, width: LEFT - 4, height: HEIGHT }), names);
    const lanes = s("path", { class: "run-lane", d: Array.from({ length: outline.nodes }, (_, node) => `M${LEFT} ${y(node).toFixed(1)}H${this.#width}`).join("") });
    this.svg.style.setProperty("--wait", gap < 9 ? ".8" : "1.6");
    this.svg.style.setProperty("--bar", `${thick.toFixed(1)}px`);
    this.svg.style.setProperty("--thin", outline.messages.length / entries > 12 ? ".5" : "1");
    fill(this.svg, lanes, this.moving, this.fixed);
    this.head = head;
    this.#move();
  }

  #move() {
    if (this.scale) this.moving.setAttribute("transform", `translate(${(this.head - this.#time * this.scale).toFixed(1)} 0)`);
  }

  leave() {
    this.watch.disconnect();
  }
}
