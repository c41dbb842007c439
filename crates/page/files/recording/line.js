// The time line of a recording: rows of nodes, views above, seconds below, and one cursor that goes from event to event.

import { fill, h, s, say, set } from "../dom.js";
import { pans } from "../draw/pan.js";
import { count } from "../words.js";
import { TOP, asSvg, marks, onCanvas, times, views } from "./marks.js";
import { kindOf, says, seconds } from "./says.js";

/** Above so many marks the rows are drawn on canvas. */
const MOST_MARKS = 2000;
/** The table shows so many events on each side of the cursor. */
const NEAR = 40;
const [LEFT, RIGHT] = [46, 16];
const clamp = (low, value, high) => Math.max(low, Math.min(high, value));

export class Line {
  #lo = 0;
  #spanned = 0;
  #frame = 0;
  at = 0;
  name = "";
  hidden = { nodes: new Set(), kinds: new Set() };

  constructor(data) {
    this.data = data;
    this.end = Math.max(0.001, data.last) * 1.02;
    this.span = this.end;
    const quiet = { "aria-hidden": "true" };
    this.canvas = h("canvas", quiet);
    this.probe = s("g", quiet);
    this.drawn = s("g", quiet);
    this.axis = s("svg", { class: "rec-axis", height: TOP, ...quiet });
    this.names = h("div", { class: "rec-names", ...quiet });
    this.svg = s("svg", { ...quiet }, this.drawn, this.probe);
    this.sheet = h("div", { class: "rec-sheet" }, this.canvas, this.svg, this.names);
    this.rows = h("div", { class: "rec-rows", role: "group", "aria-label": "Nodes", tabindex: 0 }, this.sheet);
    this.times = s("svg", { class: "rec-axis", height: 20, ...quiet });
    this.head = h("div", { class: "playhead", ...quiet });
    [this.done, this.ticks, this.thumb] = ["done", "ticks", "thumb"].map((name) => h("div", { class: name }));
    this.slider = h("div", { class: "scrubber rec-scrubber", role: "slider", tabindex: 0, "aria-label": "Event", "aria-valuemin": 1, onkeydown: (event) => this.#arrow(event), onpointerdown: (event) => this.#scrub(event) }, h("div", { class: "track" }), this.done, this.ticks, this.thumb);
    this.sentence = h("p", { class: "rec-sentence", "aria-live": "polite" });
    this.body = h("tbody", {});
    this.list = h("div", { class: "rec-list panel", tabindex: 0, role: "region", "aria-label": "Events" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "seconds"), h("th", { scope: "col" }, "what happens"))), this.body));
    this.where = h("span", { class: "quiet" });
    this.folds = h("span", { hidden: true }, "Folded: the higher a bar, the more is held in that time. Zoom in for each grant.");
    this.zoomed = h("span", { class: "zoomed" });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.rows);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.theme.addEventListener("change", this.redraw);
    // Canvas does not follow the colours of the page by itself.
    this.themes = new MutationObserver(this.redraw);
    this.themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    // A projector enlarges what is shown, and the pointer does not know it.
    const at = (x) => this.#lo + (x / (this.rows.currentCSSZoom ?? 1) - LEFT) / this.#measure().step;
    pans(this.rows, this.rows, {
      begin: () => [this.#lo, this.#measure().step * (this.rows.currentCSSZoom ?? 1)],
      pan: (to) => this.#pan(to),
      zoom: (by, x) => this.zoom(by, at(x)),
      click: (x, event) => this.events.length && this.go(this.#near(at(x), this.#nodeAt(event.clientY))),
    });
  }

  leave() {
    this.watch.disconnect();
    this.themes.disconnect();
    this.theme.removeEventListener("change", this.redraw);
    cancelAnimationFrame(this.#frame);
  }

  /** The window of time. */
  get window() {
    return [this.#lo, this.span];
  }

  set window([lo, span]) {
    this.span = clamp(this.end / 20_000, span, this.end);
    [this.#lo, this.#spanned] = [clamp(0, lo, this.end - this.span), this.span];
  }

  /** The events that are shown: all but those of names, nodes and kinds that are left out. What is wrong is always shown. */
  choose() {
    const was = this.events?.[this.at];
    const { name, hidden, data } = this;
    this.events = data.events.filter((it) => it.event === "finding" || ((!name || !it.name || it.name === name) && (it.node === null || !hidden.nodes.has(it.node)) && !hidden.kinds.has(kindOf(it))));
    const time = was?.time ?? 0;
    const same = this.events.indexOf(was);
    this.at = Math.max(0, same >= 0 ? same : this.events.findLastIndex((it) => it.time <= time));
    this.draw();
    this.#point();
  }

  go(at) {
    this.at = clamp(0, at, this.events.length - 1);
    const time = this.events[this.at]?.time ?? 0;
    // The window follows the cursor, and moves as little as it can.
    if (time < this.#lo + this.span * 0.04 || time > this.#lo + this.span * 0.96) this.#pan(time - this.span / 2);
    else this.#head();
    this.#point();
  }

  /** To the next event of a kind, or the last one. */
  find(by, kind) {
    const is = (it, index) => it.event === kind && (index - this.at) * by > 0;
    const found = by > 0 ? this.events.findIndex(is) : this.events.findLastIndex(is);
    if (found >= 0) this.go(found);
    return found >= 0;
  }

  zoom(by, around = this.events[this.at]?.time ?? 0) {
    const share = clamp(0, (around - this.#lo) / this.span, 1);
    this.span = clamp(this.end / 20_000, this.span / 2 ** by, this.end);
    this.#pan(around - share * this.span);
  }

  /** Moves the window; it is drawn once for each frame. */
  #pan(lo) {
    const to = clamp(0, lo, this.end - this.span);
    if (to === this.#lo && this.span === this.#spanned) return this.#head();
    [this.#lo, this.#spanned] = [to, this.span];
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  }

  #measure() {
    const width = this.rows.clientWidth || 600;
    return { width, step: (width - LEFT - RIGHT) / this.span };
  }

  /** Where everything is. */
  scale() {
    const { width, step } = this.#measure();
    const nodes = this.data.nodes.filter((node) => !this.hidden.nodes.has(node));
    const row = clamp(26, (this.rows.clientHeight - 8) / Math.max(1, nodes.length), 280);
    return { width, left: LEFT, row, tall: 8 + row * nodes.length, lo: this.#lo, hi: this.#lo + this.span, end: this.data.last, x: (time) => LEFT + (time - this.#lo) * step, y: new Map(nodes.map((node, at) => [node, 4 + row * (at + 0.5)])) };
  }

  draw() {
    if (!this.rows.clientWidth) return;
    const scale = this.scale();
    const seen = marks(this.data, scale, this.name);
    const { width, tall, y } = scale;
    const isMany = seen.number > MOST_MARKS;
    this.folds.hidden = !seen.isFolded;
    this.rows.dataset.drawn = isMany ? "canvas" : "svg";
    this.canvas.hidden = !isMany;
    this.sheet.style.height = `${tall}px`;
    this.head.style.height = `${Math.min(tall, this.rows.clientHeight) + 2}px`;
    set(this.svg, { width, height: tall });
    fill(this.drawn, !isMany && asSvg(seen));
    if (isMany) onCanvas(this.canvas, this.probe, seen, scale);
    fill(this.names, [...y].map(([node, at]) => {
      const label = h("span", {}, String(node));
      label.style.top = `${at - 9}px`;
      return label;
    }));
    set(this.axis, { width });
    set(this.times, { width });
    fill(this.axis, views(this.data, scale, seen.findings));
    fill(this.times, times(scale));
    this.#head();
    say(this.zoomed, this.span >= this.end ? "all" : seconds(this.span));
    this.onchange?.(seen);
  }

  #head() {
    const event = this.events[this.at];
    const { width, step } = this.#measure();
    const x = LEFT + ((event?.time ?? 0) - this.#lo) * step;
    this.head.hidden = !event || x < LEFT - 1 || x > width;
    this.head.style.transform = `translateX(${x}px)`;
    this.head.classList.toggle("wrong", event?.event === "finding");
    const place = (time) => `${(100 * time) / this.end}%`;
    this.done.style.width = this.thumb.style.left = place(event?.time ?? 0);
    this.slider.classList.toggle("wrong", event?.event === "finding");
    fill(this.ticks, this.data.findings.slice(0, 50).map((it) => {
      const tick = h("div", { class: "tick bad" });
      tick.style.left = place(it.time);
      return tick;
    }));
  }

  /** Says the event at the cursor, and shows it in the table. */
  #point() {
    const { events, at } = this;
    const event = events[at];
    const words = event ? says(event) : this.data.events.length ? "Nothing is left to show" : "Nothing happened";
    const bad = event?.event === "finding";
    fill(this.sentence, event && h("span", { class: bad ? "rec-time bad" : "rec-time" }, `${event.time.toFixed(3)} s`), h("span", { class: bad ? "wrong" : null }, `${words}.`));
    set(this.slider, { "aria-valuemax": Math.max(1, events.length), "aria-valuenow": events.length ? at + 1 : 1, "aria-valuetext": event ? `event ${at + 1} of ${events.length}, ${event.time.toFixed(3)} seconds: ${words}` : words });
    say(this.where, `${count(events.length && at + 1)} of ${count(events.length)}`);
    const from = Math.max(0, at - NEAR);
    const near = events.slice(from, at + NEAR + 1);
    const more = (number, words) => number > 0 && h("tr", { class: "quiet" }, h("td", {}), h("td", {}, `${count(number)} ${words}`));
    fill(this.body, more(from, "before"), near.map((it, index) => h("tr", { class: it.event === "finding" ? "wrong" : null, "aria-current": from + index === at ? "true" : null, onclick: () => this.go(from + index) }, h("td", {}, it.time.toFixed(3)), h("td", {}, says(it)))), more(events.length - from - near.length, "after"));
    const row = this.body.querySelector("[aria-current]");
    if (row) this.list.scrollTop = row.offsetTop - this.list.clientHeight / 2;
    this.onmove?.();
  }

  #arrow(event) {
    const page = 20;
    const to = { ArrowRight: this.at + 1, ArrowUp: this.at + 1, ArrowLeft: this.at - 1, ArrowDown: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: this.events.length - 1 }[event.key];
    if (to === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(to);
  }

  /** The event next to a moment; of those that are as near, one of this node. */
  #near(time, node) {
    const slack = this.span / 80;
    const away = (it) => Math.abs(it.time - time) + (node === undefined || it.node === node ? 0 : slack);
    return this.events.reduce((best, it, index) => (away(it) < away(this.events[best]) ? index : best), 0);
  }

  #scrub(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.slider.focus({ preventScroll: true });
    this.slider.setPointerCapture(event.pointerId);
    const box = this.slider.getBoundingClientRect();
    const move = (it) => this.go(this.#near(clamp(0, (it.clientX - box.left) / box.width, 1) * this.end));
    this.slider.addEventListener("pointermove", move);
    this.slider.addEventListener("lostpointercapture", () => this.slider.removeEventListener("pointermove", move), { once: true });
    move(event);
  }

  #nodeAt(y) {
    const box = this.sheet.getBoundingClientRect();
    const { y: rows, tall, row } = this.scale();
    return [...rows.keys()][Math.floor((((y - box.top) / box.height) * tall - 4) / row)];
  }
}
