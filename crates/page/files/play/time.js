// Time: one row for each node, one column for each step. Diagram and scrubber share one scale and one playhead; messages in
// flight are the dots where lines cross it. What is drawn depends on the window only: moving the playhead moves a few elements.

import { fill, h, s, say, set } from "../dom.js";
import { colour } from "../draw/marks.js";
import { count, many } from "../words.js";
import { paintBins, paintPaths } from "./time-canvas.js";
import { Scale, arrival, band, bins, height, lane, lines, paths, sight, thick, ticks } from "./time-marks.js";
import { filterMenu, timeTable } from "./time-more.js";

/** Above so many marks the diagram is drawn on canvas. */
const MOST_MARKS = 2000;
const [LEFT, RIGHT, MOST_WIDE] = [42, 14, 92];
const SPANS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const MOST_DOTS = 100;
const ends = (at, last) => Math.max(0, Math.min(last, Math.round(at)));

class Time {
  #lo = 0;
  #key = "";
  #at = -1;
  #last = -1;
  #drag = null;
  #frame = 0;
  #wish = null;
  hiddenNodes = new Set();
  hiddenKinds = new Set();

  constructor(run) {
    this.run = run;
    this.span = innerWidth < 700 ? 18 : 50;
    this.names = h("div", { class: "time-names" });
    this.canvas = h("canvas", { class: "time-canvas", "aria-hidden": "true" });
    this.lines = s("path", { class: "rows", "aria-hidden": "true" });
    this.still = s("svg", { x: LEFT, y: 0, "aria-hidden": "true" });
    this.band = s("g", { "aria-hidden": "true" });
    this.veil = s("rect", { class: "veil", y: 0, "aria-hidden": "true" });
    this.dots = s("g", {});
    this.svg = s("svg", { class: "time-svg", role: "group", "aria-label": "Messages in flight" }, this.lines, this.still, this.veil, this.band, this.dots);
    this.tip = h("p", { class: "time-tip", hidden: true, "aria-hidden": "true" });
    this.sheet = h("div", { class: "time-sheet" }, this.canvas, this.svg, this.names);
    this.rows = h("div", { class: "time-rows" }, this.sheet);
    this.axis = s("svg", { class: "time-axis", "aria-hidden": "true" });
    this.head = h("div", { class: "playhead", "aria-hidden": "true" });
    [this.near, this.slider] = [this.#slider("part"), this.#slider("whole")];
    this.element = h("section", { class: "run-time", "aria-label": "Time", onkeydown: (event) => this.#keyed(event) }, this.rows, this.axis, this.near.element, this.head, this.tip);
    this.spanText = h("span", { class: "zoomed" });
    const zoom = (words, sign, by) => h("button", { "aria-label": words, title: words, onclick: () => this.zoom(by) }, sign);
    this.menu = filterMenu(this);
    this.controls = h("div", { class: "time-controls" }, h("div", { class: "pair", role: "group", "aria-label": "Zoom of time" }, h("span", { class: "quiet" }, "zoom"), zoom("Fewer steps", "+", -1), this.spanText, zoom("More steps", "−", 1)), this.menu.element);
    this.rows.addEventListener("pointerdown", (event) => this.#grab(event));
    this.rows.addEventListener("pointermove", (event) => this.#hover(event));
    this.rows.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.rows);
    // Canvas does not follow the colours of the page by itself.
    this.theme = new MutationObserver(() => this.#again());
    this.theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.again = () => this.#again();
    this.dark.addEventListener("change", this.again);
  }

  leave() {
    this.watch.disconnect();
    this.theme.disconnect();
    this.dark.removeEventListener("change", this.again);
    cancelAnimationFrame(this.#frame);
    this.menu.leave();
  }

  #again() {
    this.#key = "";
    this.draw();
  }

  /** Draws what changed: the window if the run or the scale is another one, the playhead always. */
  update() {
    const { run } = this;
    if (!run.setting) return;
    if (run.at !== this.#at || run.last !== this.#last) {
      const grown = run.last !== this.#last;
      [this.#at, this.#last] = [run.at, run.last];
      if (!this.#drag || grown) this.#follow();
    }
    this.draw();
  }

  /** What follows the last step: room for what is still inside, and for a violation. */
  #tail() {
    return this.run.violated ? Math.max(1.2, Math.min(this.span, this.run.last) * 0.06) : 0.6;
  }

  #measure() {
    const width = this.rows.clientWidth || 600;
    const end = this.run.last + this.#tail();
    const room = width - LEFT - RIGHT;
    const step = Math.min(MOST_WIDE, room / Math.min(this.span, Math.max(end, 1)));
    return { width, end, step, most: Math.max(0, end - room / step), across: room / step };
  }

  /** The window follows the playhead, and moves as little as it can. */
  #follow() {
    const { most, across } = this.#measure();
    const [low, high] = [this.run.at - across * 0.78, this.run.at - across * 0.12];
    this.#lo = Math.max(0, Math.min(most, Math.max(low, Math.min(high, this.#lo))));
  }

  #pan(to) {
    this.#lo = Math.max(0, Math.min(this.#measure().most, to));
    this.draw();
  }

  /** Zooms around a step: the playhead, or where the pointer is. */
  zoom(by, around = this.run.at) {
    const all = this.run.last + this.#tail();
    const steps = SPANS.filter((span) => span < all).concat(all > 5 ? Math.ceil(all) : []);
    const next = by > 0 ? steps.find((span) => span > this.span) : steps.findLast((span) => span < Math.min(this.span, all));
    if (!next) return;
    const share = (around - this.#lo) / this.#measure().across;
    this.span = next;
    this.#lo = around - share * this.#measure().across;
    this.#pan(this.#lo);
  }

  scale() {
    const { width, end, step } = this.#measure();
    const nodes = Array.from({ length: this.run.setting.nodes }, (_, node) => node).filter((node) => !this.hiddenNodes.has(node));
    const tall = this.rows.clientHeight || 160;
    const row = Math.max(11, Math.min(40, (tall - 6) / Math.max(1, nodes.length)));
    const y = new Map(nodes.map((node, index) => [node, 3 + row * (index + 0.5)]));
    return new Scale({ lo: this.#lo, step, left: LEFT, width: width - RIGHT, row, y, end });
  }

  draw() {
    const { run } = this;
    if (!run.setting || !this.rows.clientWidth) return this.#sliders();
    this.#lo = Math.max(0, Math.min(this.#measure().most, this.#lo));
    const scale = this.scale();
    const outline = run.outline;
    const key = [scale.lo, scale.step, scale.width, scale.row, scale.end, [...this.hiddenNodes], [...this.hiddenKinds], run.violated?.at, innerWidth].join("|");
    if (key !== this.#key || outline !== this.outline) {
      [this.#key, this.outline, this.at] = [key, outline, scale];
      this.#drawWindow(scale);
    }
    this.#drawHead(scale);
  }

  #drawWindow(scale) {
    const { run } = this;
    const data = lines(run);
    const tall = 6 + scale.row * scale.y.size;
    const wide = scale.width + RIGHT;
    this.sheet.style.height = `${tall}px`;
    set(this.svg, { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}` });
    const seen = sight(data, scale, this.hiddenKinds);
    const marks = seen.bars.length + seen.waits.length + seen.messages.length;
    const canvas = marks > MOST_MARKS;
    this.element.dataset.drawn = canvas ? (scale.step < 1 ? "bins" : "canvas") : "svg";
    this.canvas.hidden = !canvas;
    this.seen = seen;
    set(this.lines, { d: [...scale.y.values()].map((y) => `M${LEFT} ${y.toFixed(1)}H${wide}`).join("") });
    set(this.still, { width: wide - LEFT, height: tall, viewBox: `${LEFT} 0 ${wide - LEFT} ${tall}` });
    fill(this.still, !canvas && drawPaths(seen, scale, data));
    if (canvas && scale.step < 1) paintBins(this.canvas, bins(seen, scale), scale, tall);
    else if (canvas) paintPaths(this.canvas, paths(seen, scale, data.clients), scale, tall);
    fill(this.band, drawBand(run, scale));
    set(this.axis, { width: wide, height: 22, viewBox: `0 0 ${wide} 22` });
    fill(this.axis, drawAxis(run, scale));
    this.#drawNames(scale);
    const all = this.span >= run.last;
    say(this.spanText, all ? `all ${many(run.last, "step")}` : `${count(Math.round(this.span))} steps`);
    this.menu.update(data.kinds);
  }

  #drawNames(scale) {
    const sparse = scale.row < 13;
    const key = [...scale.y.keys()].join() + sparse;
    if (this.named !== key) {
      this.named = key;
      fill(this.names, [...scale.y.keys()].map((node) => h("button", { "data-node": node, "aria-label": `Node ${node}`, onclick: () => this.run.choose(this.run.chosen === node ? null : node) }, sparse && node % 5 ? "" : String(node))));
    }
    for (const button of this.names.children) {
      const node = Number(button.dataset.node);
      set(button, { "aria-pressed": this.run.chosen === node });
      button.style.top = `${scale.y.get(node) - scale.row / 2}px`;
      button.style.height = `${scale.row}px`;
    }
  }

  #drawHead(scale) {
    const { run } = this;
    for (const button of this.names.children) set(button, { "aria-pressed": run.chosen === Number(button.dataset.node) });
    const x = scale.x(run.at);
    const inside = x >= LEFT - 1 && x <= scale.width + RIGHT;
    this.head.hidden = !inside;
    this.head.style.transform = `translateX(${x.toFixed(1)}px)`;
    // Behind the last step there is no future.
    const from = run.at === run.last ? scale.width + RIGHT : Math.max(LEFT, Math.min(x, scale.width + RIGHT));
    this.band.classList.toggle("later", run.at < run.violated?.at);
    set(this.veil, { x: from.toFixed(1), width: Math.max(0, scale.width + RIGHT - from).toFixed(1), height: 6 + scale.row * scale.y.size });
    this.#drawDots(scale, inside);
    this.#sliders(scale);
  }

  /** Messages in flight. One that was just sent stands beside the playhead, so that those of one step do not cover each other. */
  #drawDots(scale, inside) {
    const { run } = this;
    const flying = inside && scale.step >= 1 ? this.seen.messages.filter((it) => it.sent <= run.at && (it.received ?? it.lost ?? Infinity) > run.at).slice(0, MOST_DOTS) : [];
    const can = run.canAct ? run.known(run.at)?.can ?? [] : [];
    fill(this.dots, flying.map((it) => {
      const at = Math.max(run.at, it.sent + Math.min(0.35, 9 / scale.step));
      const step = can.find((act) => act.kind === "deliver" && act.message === it.id)?.step;
      const words = `${it.kind} from ${it.from} to ${it.to}`;
      const place = { class: `dot ${it.token === null ? "asks" : "carries"} ${colour(it.tone)}`, transform: `translate(${scale.x(at).toFixed(1)} ${height(it, at, scale).toFixed(1)})`, "data-id": it.id };
      const drawn = [s("circle", { class: "reach", r: 11 }), s("circle", { r: 4.4 })];
      if (!step) return s("g", { ...place, role: "img", "aria-label": `${words}, in flight` }, drawn, s("title", {}, words));
      const act = () => run.act(step);
      return s("g", { ...place, role: "button", tabindex: 0, "aria-label": `Deliver ${words}`, onclick: act, onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), event.stopPropagation(), act()) }, drawn, s("title", {}, `Deliver ${words}`));
    }));
  }

  #slider(kind) {
    const parts = { track: h("div", { class: "track" }), done: h("div", { class: "done" }), ticks: h("div", {}), thumb: h("div", { class: "thumb" }) };
    const element = h("div", { class: `scrubber ${kind}`, role: "slider", tabindex: 0, "aria-label": "Step", "aria-valuemin": 0 }, parts.track, parts.done, parts.ticks, parts.thumb);
    element.addEventListener("keydown", (event) => this.#arrow(event));
    element.addEventListener("pointerdown", (event) => this.#scrub(event, element, kind));
    return { element, ...parts };
  }

  #sliders(scale) {
    const { run } = this;
    if (!run.setting) return;
    const text = `step ${run.at} of ${run.last}${run.at ? `: ${run.steps[run.at - 1]}` : ""}`;
    const whole = (at) => `${(100 * at) / Math.max(1, run.last)}%`;
    const wrong = run.violated && run.violated.at <= run.last ? run.violated.at : null;
    for (const [slider, place] of [[this.slider, whole], scale && [this.near, (at) => `${Math.max(LEFT - 6, Math.min(scale.width + RIGHT + 12, scale.x(at))).toFixed(1)}px`]].filter(Boolean)) {
      set(slider.element, { "aria-valuemax": run.last, "aria-valuenow": run.at, "aria-valuetext": text });
      slider.element.classList.toggle("wrong", wrong !== null && run.at >= wrong);
      slider.thumb.style.left = place(run.at);
      slider.done.style.width = slider === this.near ? `${Math.max(0, parseFloat(place(run.at)) - LEFT)}px` : place(run.at);
      const marks = [wrong !== null && ["bad", wrong], ...run.branches.filter((it) => it.at < run.last && it.setting.algorithm === run.setting.algorithm).map((it) => ["fork", it.at])].filter(Boolean).filter(([, at]) => slider !== this.near || (at >= scale.lo && at <= scale.hi));
      const key = marks.map(([kind, at]) => `${kind}${place(at)}`).join();
      if (slider.key === key) continue;
      slider.key = key;
      fill(slider.ticks, marks.map(([kind, at]) => {
        const tick = h("div", { class: `tick ${kind}` });
        tick.style.left = place(at);
        return tick;
      }));
    }
    if (scale) this.near.track.style.right = `${Math.max(RIGHT, scale.width + RIGHT - scale.x(scale.end)).toFixed(1)}px`;
    set(this.near.thumb, { class: this.head.hidden ? "thumb away" : "thumb" });
  }

  #keyed(event) {
    // Elsewhere T is the timer of a node: here it is the table of what is drawn.
    if (event.key.toLowerCase() !== "t" || event.ctrlKey || event.metaKey || event.altKey || !event.target.closest(".run-time")) return;
    event.stopPropagation();
    this.table();
  }

  table() {
    timeTable(this.run, this.hiddenNodes, this.hiddenKinds);
  }

  #arrow(event) {
    const { run } = this;
    const page = Math.max(1, Math.round(this.#measure().across / 5));
    const to = { ArrowRight: run.at + 1, ArrowUp: run.at + 1, ArrowLeft: run.at - 1, ArrowDown: run.at - 1, PageUp: run.at - page, PageDown: run.at + page, Home: 0, End: run.last }[event.key];
    if (to === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    run.pause();
    run.go(ends(to, run.last));
  }

  /** Dragging: one step of the playhead for each frame at most; at the edges the window moves on. */
  #scrub(event, element, kind) {
    if (event.button !== 0) return;
    const { run } = this;
    event.preventDefault();
    element.focus({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    run.pause();
    this.#drag = { x: event.clientX };
    const box = element.getBoundingClientRect();
    const move = () => {
      if (!this.#drag) return;
      const x = this.#drag.x - box.left;
      let again = false;
      if (kind === "whole") this.#wish = ends((x / box.width) * run.last, run.last);
      else {
        const { width, across, most } = this.#measure();
        const beyond = x > width - RIGHT - 8 ? x - (width - RIGHT - 8) : x < LEFT + 8 ? x - (LEFT + 8) : 0;
        const lo = Math.max(0, Math.min(most, this.#lo + Math.sign(beyond) * Math.min(1, Math.abs(beyond) / 30) * (across / 25)));
        again = beyond !== 0 && lo !== this.#lo;
        this.#lo = lo;
        this.#wish = ends(Math.max(this.#lo, Math.min(this.#lo + across, this.scale().at(x))), run.last);
      }
      if (this.#wish !== run.at) run.go(this.#wish);
      this.draw();
      this.#frame = again ? requestAnimationFrame(move) : 0;
    };
    const moved = (it) => {
      this.#drag.x = it.clientX;
      this.#frame ||= requestAnimationFrame(move);
    };
    const done = () => {
      element.removeEventListener("pointermove", moved);
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      move();
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      this.#drag = null;
    };
    element.addEventListener("pointermove", moved);
    element.addEventListener("lostpointercapture", done, { once: true });
    move();
  }

  /** On the diagram: a drag moves the window, a click goes to the step. */
  #grab(event) {
    if (event.button !== 0 || event.target.closest("button, [role=button]")) return;
    const [x, lo] = [event.clientX, this.#lo];
    const { step } = this.#measure();
    let far = false;
    const moved = (it) => {
      far ||= Math.abs(it.clientX - x) > 5;
      if (far) this.#pan(lo - (it.clientX - x) / step);
    };
    const end = (it) => {
      for (const name of ["pointerup", "pointercancel"]) this.rows.removeEventListener(name, end);
      this.rows.removeEventListener("pointermove", moved);
      if (far || it.type !== "pointerup") return;
      this.run.pause();
      this.run.go(ends(this.at.at(it.clientX - this.rows.getBoundingClientRect().left), this.run.last));
    };
    this.rows.setPointerCapture(event.pointerId);
    this.rows.addEventListener("pointermove", moved);
    for (const name of ["pointerup", "pointercancel"]) this.rows.addEventListener(name, end);
  }

  #wheel(event) {
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1 : -1, this.at?.at(event.clientX - this.rows.getBoundingClientRect().left));
      return;
    }
    const by = event.shiftKey ? event.deltaY || event.deltaX : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (!by) return;
    event.preventDefault();
    this.#pan(this.#lo + by / this.#measure().step);
  }

  /** What is under the pointer, in words. */
  #hover(event) {
    if (!this.at || !this.seen || event.pointerType === "touch") return;
    const box = this.sheet.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const words = describe(this.seen, this.at, x, y, lines(this.run));
    this.tip.hidden = !words;
    if (!words) return;
    say(this.tip, words);
    const right = x > box.width / 2;
    this.tip.style.left = right ? "auto" : `${x + 12}px`;
    this.tip.style.right = right ? `${box.width - x + 12}px` : "auto";
    this.tip.style.top = `${Math.max(2, event.clientY - this.element.getBoundingClientRect().top - 30)}px`;
  }
}

function describe(seen, scale, x, y, data) {
  const at = scale.at(x);
  const tall = thick(scale, data.clients) / 2 + 2;
  const on = (it) => it.from <= at && (it.to ?? scale.end) >= at && Math.abs(lane(it, scale, data.clients) - y) <= tall;
  const by = (it) => (it.tone === null ? "" : `, ${it.tone}`);
  const during = (it) => `steps ${it.from} to ${it.to ?? "now"}`;
  const bar = seen.bars.find(on);
  if (bar) return `${bar.node} is inside${by(bar)}: ${during(bar)}`;
  const flies = seen.messages.find((it) => it.sent <= at && arrival(it, scale) >= at && (it.lost === null || it.lost >= at) && Math.abs(height(it, at, scale) - y) < 5);
  if (flies) return `${flies.kind} from ${flies.from} to ${flies.to}: sent ${flies.sent}, ${flies.lost !== null ? `lost ${flies.lost}` : flies.received === null ? "in flight" : `received ${flies.received}`}`;
  const down = seen.crashes.find((it) => on({ ...it, client: 0 }));
  if (down) return `${down.node} is down: ${during(down)}`;
  const wait = seen.waits.find(on);
  return wait ? `${wait.node} waits${by(wait)}: ${during(wait)}` : "";
}

/** The band of a violation: hatched, with its words. */
export function drawBand(run, scale) {
  const found = band(run, scale.end);
  if (!found || found.from > scale.hi || found.to < scale.lo || !scale.y.size) return null;
  const rows = (found.nodes ?? [...scale.y.keys()]).filter((node) => scale.y.has(node)).map((node) => scale.y.get(node));
  if (!rows.length) return null;
  const [top, bottom] = [Math.min(...rows) - scale.row * 0.45, Math.max(...rows) + scale.row * 0.45];
  const [x, to] = [Math.max(scale.left, scale.x(found.from)), Math.min(scale.width + RIGHT, scale.x(found.to))];
  const wide = Math.max(3, to - x);
  const hatch = s("pattern", { id: "time-hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("path", { class: "hatch", d: "M0 0V7" }));
  const room = found.text.length * 6.4 + 16;
  const middle = rows.length === 2 ? (rows[0] + rows[1]) / 2 : top + 12;
  // Words need room between the bars: otherwise the sentence of the step says it.
  const words = room < wide && (!found.nodes || scale.row >= 19) && s("g", { class: "pill", transform: `translate(${(x + wide / 2).toFixed(1)} ${middle.toFixed(1)})` }, s("rect", { x: -room / 2, y: -9, width: room, height: 18, rx: 9 }), s("text", { y: 3.8 }, found.text));
  return s("g", { class: "band" }, s("defs", {}, hatch), s("rect", { fill: "url(#time-hatch)", x, y: top, width: wide, height: bottom - top }), s("path", { class: "edge", d: `M${x} ${top}h${wide}M${x} ${bottom}h${wide}` }), words);
}

/** All marks of a window as elements. */
export function drawPaths(seen, scale, data) {
  const tall = thick(scale, data.clients);
  const numbers = data.numbered && tall >= 9 ? seen.bars.filter((it) => it.tone !== null && scale.x(it.to ?? scale.end) - Math.max(scale.left, scale.x(it.from)) > 13) : [];
  return [
    paths(seen, scale, data.clients).map(({ kind, tone, d }) => s("path", { class: `mark ${kind} ${tone}`, d })),
    numbers.map((it) => s("text", { class: `bar-number ${colour(it.tone)}`, x: (Math.max(scale.x(it.from), scale.left) + 4.5).toFixed(1), y: (lane(it, scale, data.clients) + 3.4).toFixed(1) }, String(it.tone))),
  ];
}

/** Numbers of steps, or the steps themselves where there is room. */
export function drawAxis(run, scale) {
  const named = scale.step >= 58 && run.last > 0;
  return ticks(scale, run.last, named ? scale.step * 0.9 : 56).map((at) => s("text", { class: named && at ? "step" : "", x: scale.x(at).toFixed(1), y: 14 }, named && at ? run.steps[at - 1] : String(at)));
}

/** The diagram, its scrubber, and what controls it. */
export function timeView(run) {
  const time = new Time(run);
  time.update();
  run.timeView = time;
  return {
    element: time.element,
    controls: time.controls,
    slider: time.slider.element,
    update: () => time.update(),
    zoom: (by) => time.zoom(by),
    table: () => time.table(),
    leave: () => time.leave(),
  };
}
