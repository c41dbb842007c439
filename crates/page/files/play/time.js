// Time: one row for each node, one column for each step. Diagram and scrubber share one scale and one playhead; messages in
// flight are the dots where lines cross it. What is drawn depends on the window: the playhead moves a few elements only.

import { fill, h, s, say, set } from "../dom.js";
import { colour } from "../draw/marks.js";
import { paint } from "../draw/paint.js";
import { pans } from "../draw/pan.js";
import { count, many } from "../words.js";
import { paintBins } from "./time-canvas.js";
import { drawFaults, faultKey } from "./time-faults.js";
import { RIGHT, Scale, drawAxis, drawBand, drawPaths, height, lines, paths, sight } from "./time-marks.js";
import { filterMenu, timeTable } from "./time-more.js";

/** Above so many marks the diagram is drawn on canvas. */
const MOST_MARKS = 2000;
const [LEFT, WIDEST, MOST_DOTS] = [42, 92, 100];
const SPANS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const clamp = (low, value, high) => Math.max(low, Math.min(high, value));

class Time {
  #lo = 0;
  #key = "";
  #at = -1;
  #last = -1;
  #drag = null;
  #frame = 0;
  hiddenNodes = new Set();
  hiddenKinds = new Set();

  constructor(run) {
    this.run = run;
    this.span = innerWidth < 700 ? 18 : 50;
    const quiet = { "aria-hidden": "true" };
    this.names = h("div", { class: "time-names" });
    this.canvas = h("canvas", quiet);
    this.rules = s("path", { class: "rows", ...quiet });
    this.marks = s("svg", { x: LEFT, ...quiet });
    this.faults = s("g", quiet);
    this.veil = s("rect", { class: "veil", ...quiet });
    this.band = s("g", quiet);
    this.dots = s("g", {});
    this.svg = s("svg", { role: "group", "aria-label": "Messages in flight" }, this.rules, this.marks, this.faults, this.veil, this.band, this.dots);
    this.sheet = h("div", { class: "time-sheet" }, this.canvas, this.svg, this.names);
    this.rows = h("div", { class: "time-rows" }, this.sheet);
    this.key = h("div", { class: "time-key", hidden: true });
    this.axis = s("svg", { class: "time-axis", height: 22, ...quiet });
    this.head = h("div", { class: "playhead", hidden: true, ...quiet });
    [this.part, this.whole] = ["part", "whole"].map((kind) => this.#slider(kind));
    this.element = h("section", { class: "run-time", "aria-label": "Time", onkeydown: (event) => this.#keyed(event) }, this.rows, this.axis, this.key, this.part.element, this.head);
    this.spanText = h("span", { class: "zoomed" });
    const zoom = (words, sign, by) => h("button", { "aria-label": words, title: words, onclick: () => this.zoom(by) }, sign);
    this.menu = filterMenu(this);
    this.controls = h("div", { class: "time-controls" }, h("div", { class: "pair", role: "group", "aria-label": "Zoom of time" }, h("span", { class: "quiet" }, "zoom"), zoom("More steps", "−", -1), this.spanText, zoom("Fewer steps", "+", 1)), this.menu.element);
    // A drag on the diagram moves the window, a click goes to the step.
    pans(this.rows, this.element, {
      begin: () => [this.#lo, this.#measure().step],
      pan: (to) => this.#pan(to),
      zoom: (by, x) => this.zoom(by, this.scale().at(x)),
      click: (x) => this.#go(this.scale().at(x)),
    });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.rows);
  }

  leave() {
    this.watch.disconnect();
    this.menu.leave();
    this.#drag = null;
  }

  /** Draws what changed: the window if the run or the scale is another one, the playhead always. */
  update() {
    const { at, last, setting } = this.run;
    if (!setting) return;
    const grown = last !== this.#last;
    if ((at !== this.#at || grown) && (!this.#drag || grown)) this.#follow();
    [this.#at, this.#last] = [at, last];
    this.draw();
  }

  /** Behind the last step there is room for what is still inside, and for a violation. */
  #measure() {
    const { last, violated } = this.run;
    const width = this.rows.clientWidth || 600;
    const end = last + (violated ? Math.max(1.2, Math.min(this.span, last) * 0.06) : 0.6);
    const room = width - LEFT - RIGHT;
    const step = Math.min(WIDEST, room / Math.min(this.span, end));
    return { width, end, step, across: room / step, most: Math.max(0, end - room / step) };
  }

  /** The window follows the playhead, and moves as little as it can. */
  #follow() {
    const { most, across } = this.#measure();
    this.#lo = clamp(0, clamp(this.run.at - across * 0.78, this.#lo, this.run.at - across * 0.12), most);
  }

  #pan(to) {
    this.#lo = to;
    this.draw();
  }

  /** Zooms in (1) or out (-1), around a step: the playhead, or where the pointer is. Returns whether it could. */
  zoom(by, around = this.run.at) {
    const { end, across } = this.#measure();
    const spans = [...SPANS.filter((span) => span < end), Math.ceil(end)];
    const next = by < 0 ? spans.find((span) => span > this.span) : spans.findLast((span) => span < Math.min(this.span, end));
    if (!next) return false;
    const share = (around - this.#lo) / across;
    this.span = next;
    this.#pan(around - share * this.#measure().across);
    return true;
  }

  scale() {
    const { width, end, step } = this.#measure();
    const nodes = Array.from({ length: this.run.setting.nodes }, (_, node) => node).filter((node) => !this.hiddenNodes.has(node));
    const row = clamp(11, ((this.rows.clientHeight || 160) - 6) / Math.max(1, nodes.length), 40);
    return new Scale({ lo: this.#lo, step, left: LEFT, width, end, row, y: new Map(nodes.map((node, index) => [node, 3 + row * (index + 0.5)])) });
  }

  draw() {
    const { run } = this;
    if (!run.setting) return;
    if (!this.rows.clientWidth) return this.#slide(this.whole);
    this.#lo = clamp(0, this.#lo, this.#measure().most);
    const scale = this.scale();
    // Canvas does not follow the colours of the page by itself.
    const key = JSON.stringify([scale, [...this.hiddenNodes], [...this.hiddenKinds], run.violated, document.documentElement.dataset.theme, matchMedia("(prefers-color-scheme: dark)").matches]);
    if (key !== this.#key || run.outline !== this.outline) {
      [this.#key, this.outline] = [key, run.outline];
      this.#drawWindow(scale);
    }
    this.#drawHead(scale);
  }

  #drawWindow(scale) {
    const { run } = this;
    const { width, tall, step } = scale;
    const data = lines(run);
    this.seen = sight(data, scale, this.hiddenKinds);
    const { bars, waits, messages } = this.seen;
    const drawn = step < 1 ? "bins" : bars.length + waits.length + messages.length <= MOST_MARKS ? "svg" : "canvas";
    this.element.dataset.drawn = drawn;
    this.canvas.hidden = drawn === "svg";
    this.sheet.style.height = `${tall}px`;
    set(this.svg, { width, height: tall });
    set(this.marks, { width: width - LEFT, height: tall, viewBox: `${LEFT} 0 ${width - LEFT} ${tall}` });
    set(this.rules, { d: [...scale.y.values()].map((y) => `M${LEFT} ${y}H${width}`).join("") });
    fill(this.marks, drawn === "svg" && drawPaths(this.seen, scale, data));
    if (drawn === "bins") paintBins(this.canvas, this.seen, scale);
    else if (drawn === "canvas") paint(this.canvas, this.marks, paths(this.seen, scale, data.clients), scale);
    fill(this.faults, drawFaults(this.seen, scale));
    const key = faultKey(data);
    if (this.key.childElementCount !== key.length) fill(this.key, key);
    this.key.hidden = !key.length;
    fill(this.band, drawBand(run, scale));
    set(this.axis, { width });
    fill(this.axis, drawAxis(run, scale));
    // Names of rows that are too low for their type: each fifth.
    const sparse = scale.row < 13;
    fill(this.names, [...scale.y].map(([node, y]) => {
      const button = h("button", { "data-node": node, "aria-label": `Node ${node}`, onclick: () => run.choose(run.chosen === node ? null : node) }, sparse && node % 5 ? "" : String(node));
      button.style.top = `${y - scale.row / 2}px`;
      button.style.height = `${scale.row}px`;
      return button;
    }));
    say(this.spanText, this.span >= run.last ? `all ${run.last ? many(run.last, "step") : "steps"}` : `${count(this.span)} steps`);
    this.menu.update(data.kinds);
  }

  #drawHead(scale) {
    const { run } = this;
    const x = scale.x(run.at);
    for (const button of this.names.children) set(button, { "aria-pressed": run.chosen === Number(button.dataset.node) });
    this.head.hidden = x < LEFT - 1 || x > scale.width;
    this.head.style.transform = `translateX(${x}px)`;
    this.band.classList.toggle("later", run.at < run.violated?.at);
    // Behind the last step there is no future.
    const from = run.at === run.last ? scale.width : clamp(LEFT, x, scale.width);
    set(this.veil, { x: from, width: scale.width - from, height: scale.tall });
    this.#drawDots(scale);
    this.#slide(this.part, scale);
    this.#slide(this.whole);
  }

  /** Messages in flight. One that was just sent stands beside the playhead, so that those of one step do not cover each other. */
  #drawDots(scale) {
    const { run } = this;
    const flying = this.head.hidden || scale.step < 1 ? [] : this.seen.messages.filter((it) => it.sent <= run.at && (it.received ?? it.lost ?? Infinity) > run.at);
    const can = run.canAct ? run.known(run.at)?.can ?? [] : [];
    fill(this.dots, flying.slice(0, MOST_DOTS).map((it) => {
      const at = Math.max(run.at, it.sent + Math.min(0.35, 9 / scale.step));
      const step = can.find((act) => act.kind === "deliver" && act.message === it.id)?.step;
      const words = `${step ? "Deliver " : ""}${it.kind} from ${it.from} to ${it.to}`;
      const presses = { role: "button", tabindex: 0, onclick: () => run.act(step) };
      return s("g", { class: `dot ${it.token === null ? "asks" : "carries"} ${colour(it.tone)}`, transform: `translate(${scale.x(at)} ${height(it, at, scale)})`, role: "img", "aria-label": words, ...(step ? presses : {}) }, s("title", {}, words), s("circle", { class: "reach", r: 11 }), s("circle", { r: 4.4 }));
    }));
  }

  #slider(kind) {
    const [track, done, ticks, thumb] = ["track", "done", "ticks", "thumb"].map((name) => h("div", { class: name }));
    const element = h("div", { class: `scrubber ${kind}`, role: "slider", tabindex: 0, "aria-label": "Step", "aria-valuemin": 0, onkeydown: (event) => this.#arrow(event), onpointerdown: (event) => this.#scrub(event, kind) }, track, done, ticks, thumb);
    return { element, track, done, ticks, thumb };
  }

  /** Moves a scrubber: that of the window, which has a scale, or that of the whole run. */
  #slide({ element, track, done, ticks, thumb }, scale) {
    const { run } = this;
    const wrong = run.violated?.at ?? Infinity;
    const place = (at) => (scale ? `${clamp(LEFT - 9, scale.x(at), scale.width + 9)}px` : `${(100 * at) / Math.max(1, run.last)}%`);
    set(element, { "aria-valuemax": run.last, "aria-valuenow": run.at, "aria-valuetext": `step ${run.at} of ${run.last}${run.at ? `: ${run.steps[run.at - 1]}` : ""}` });
    element.classList.toggle("wrong", run.at >= wrong);
    thumb.style.left = place(run.at);
    done.style.width = scale ? `calc(${place(run.at)} - ${LEFT}px)` : place(run.at);
    if (scale) track.style.width = `${Math.min(scale.width - RIGHT, scale.x(scale.end)) - LEFT}px`;
    const forks = run.branches.filter((it) => it.setting.algorithm === run.setting.algorithm).map((it) => it.at);
    fill(ticks, [wrong, ...forks].filter((at) => at <= run.last).map((at) => {
      const tick = h("div", { class: at === wrong ? "tick bad" : "tick" });
      tick.style.left = place(at);
      return tick;
    }));
  }

  table() {
    timeTable(this.run, this);
  }

  #keyed(event) {
    // Elsewhere T is the timer of a node: here it is the table of what is drawn.
    if (event.key.toLowerCase() !== "t" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    this.table();
  }

  #arrow(event) {
    const { run } = this;
    const page = Math.ceil(this.#measure().across / 5);
    const to = { ArrowRight: run.at + 1, ArrowUp: run.at + 1, ArrowLeft: run.at - 1, ArrowDown: run.at - 1, PageUp: run.at - page, PageDown: run.at + page, Home: 0, End: run.last }[event.key];
    if (to === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.#go(to);
  }

  #go(at) {
    this.run.pause();
    const to = clamp(0, Math.round(at), this.run.last);
    if (to !== this.run.at) this.run.go(to);
  }

  /** Dragging: one step of the playhead for each frame at most; at the edges the window moves on. */
  #scrub(event, kind) {
    if (event.button !== 0) return;
    const element = event.currentTarget;
    event.preventDefault();
    element.focus({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    const box = element.getBoundingClientRect();
    const drag = (this.#drag = { x: event.clientX });
    const move = () => {
      this.#frame = 0;
      if (this.#drag !== drag) return;
      const x = drag.x - box.left;
      if (kind === "whole") return this.#go((x / box.width) * this.run.last);
      const { width, across, most } = this.#measure();
      const beyond = x - clamp(LEFT + 8, x, width - RIGHT - 8);
      const lo = clamp(0, this.#lo + (clamp(-30, beyond, 30) / 750) * across, most);
      if (lo !== this.#lo) this.#frame = requestAnimationFrame(move);
      this.#pan(lo);
      this.#go(clamp(lo, this.scale().at(x), lo + across));
    };
    const moved = (it) => {
      drag.x = it.clientX;
      this.#frame ||= requestAnimationFrame(move);
    };
    element.addEventListener("pointermove", moved);
    element.addEventListener("lostpointercapture", () => {
      element.removeEventListener("pointermove", moved);
      cancelAnimationFrame(this.#frame);
      move();
      this.#drag = null;
    }, { once: true });
    move();
  }
}

/** The diagram, its scrubber, and what controls it. */
export function timeView(run) {
  const time = new Time(run);
  run.timeView = time;
  time.update();
  return { element: time.element, controls: time.controls, slider: time.whole.element, update: () => time.update(), zoom: (by) => time.zoom(by), table: () => time.table(), leave: () => time.leave() };
}
