// A recording of the swarm or of a cluster on a time line: rows of nodes, views above, one cursor that goes from event to event.

import { fill, h, s, say, set } from "../dom.js";
import { command } from "../live/states.js";
import { clock, count, many } from "../words.js";
import { asSvg, marks, paint } from "./marks.js";
import { Recording } from "./read.js";
import { KINDS, kindOf, says } from "./says.js";

/** Above so many marks the rows are drawn on canvas. */
const MOST_MARKS = 2000;
/** The table shows so many events on each side of the cursor. */
const NEAR = 40;
const [LEFT, TOP, RIGHT] = [46, 24, 16];
const clamp = (low, value, high) => Math.max(low, Math.min(high, value));

class Line {
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
    this.rows = h("div", { class: "rec-rows", role: "group", "aria-label": "Nodes", tabindex: 0, onpointerdown: (event) => this.#grab(event) }, this.sheet);
    this.times = s("svg", { class: "rec-axis", height: 20, ...quiet });
    this.head = h("div", { class: "playhead", ...quiet });
    [this.done, this.ticks, this.thumb] = ["done", "ticks", "thumb"].map((name) => h("div", { class: name }));
    this.slider = h("div", { class: "scrubber rec-scrubber", role: "slider", tabindex: 0, "aria-label": "Event", "aria-valuemin": 1, onkeydown: (event) => this.#arrow(event), onpointerdown: (event) => this.#scrub(event) }, h("div", { class: "track" }), this.done, this.ticks, this.thumb);
    this.sentence = h("p", { class: "rec-sentence", "aria-live": "polite" });
    this.body = h("tbody", {});
    this.list = h("div", { class: "rec-list panel", tabindex: 0, role: "region", "aria-label": "Events" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "seconds"), h("th", { scope: "col" }, "what happens"))), this.body));
    this.where = h("span", { class: "quiet" });
    this.zoomed = h("span", { class: "zoomed" });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.rows);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.theme.addEventListener("change", this.redraw);
    // Canvas does not follow the colours of the page by itself.
    this.themes = new MutationObserver(this.redraw);
    this.themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.rows.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.choose();
  }

  leave() {
    this.watch.disconnect();
    this.themes.disconnect();
    this.theme.removeEventListener("change", this.redraw);
    cancelAnimationFrame(this.#frame);
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
    const { width } = this.#measure();
    const time = this.events[this.at]?.time ?? 0;
    // The window follows the cursor, and moves as little as it can.
    if (time < this.#lo + this.span * 0.04 || time > this.#lo + this.span * 0.96) this.#pan(time - this.span / 2);
    else this.#head(width);
    this.#point();
  }

  find(by) {
    const { events, at } = this;
    const next = by > 0 ? events.findIndex((it, index) => index > at && it.event === "finding") : events.findLastIndex((it, index) => index < at && it.event === "finding");
    const found = next >= 0 ? next : events.findIndex((it) => it.event === "finding");
    if (found >= 0) this.go(found);
  }

  zoom(by, around = this.events[this.at]?.time ?? 0) {
    const span = clamp(this.end / 20_000, this.span / 2 ** by, this.end);
    const share = clamp(0, (around - this.#lo) / this.span, 1);
    this.span = span;
    this.#pan(around - share * span);
  }

  /** Moves the window; it is drawn once for each frame. */
  #pan(lo) {
    const to = clamp(0, lo, this.end - this.span);
    if (to === this.#lo && this.span === this.#spanned) return this.#head(this.#measure().width);
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

  #x(time) {
    return LEFT + (time - this.#lo) * this.#measure().step;
  }

  draw() {
    if (!this.rows.clientWidth) return;
    const { data, name } = this;
    const { width } = this.#measure();
    const nodes = data.nodes.filter((node) => !this.hidden.nodes.has(node));
    const row = clamp(26, (this.rows.clientHeight - 8) / Math.max(1, nodes.length), 140);
    const scale = { width, left: LEFT, row, tall: 8 + row * nodes.length, lo: this.#lo, hi: this.#lo + this.span, end: data.last, x: (time) => this.#x(time), y: new Map(nodes.map((node, at) => [node, 4 + row * (at + 0.5)])) };
    const seen = marks(data, scale, name);
    const onCanvas = seen.number > MOST_MARKS;
    this.rows.dataset.drawn = onCanvas ? "canvas" : "svg";
    this.canvas.hidden = !onCanvas;
    this.sheet.style.height = `${scale.tall}px`;
    set(this.svg, { width, height: scale.tall });
    fill(this.drawn, !onCanvas && asSvg(seen));
    if (onCanvas) paint(this.canvas, this.probe, seen, scale);
    fill(this.names, nodes.map((node) => {
      const label = h("span", {}, String(node));
      label.style.top = `${scale.y.get(node) - 9}px`;
      return label;
    }));
    this.#axes(width, seen.findings);
    this.#head(width);
    say(this.zoomed, this.span >= this.end ? "all" : seconds(this.span));
  }

  /** Views above, seconds below. Labels that would touch are left out. */
  #axes(width, findings) {
    let free = LEFT - 2;
    const room = (at, text) => {
      const wide = text.length * 6.4 + 10;
      if (at < free || at + wide > width + 6) return null;
      free = at + wide;
      return text;
    };
    const current = this.data.views.findLast((it) => it.time <= this.#lo);
    const views = [...(current ? [{ ...current, time: this.#lo }] : []), ...this.data.views.filter((it) => it.time > this.#lo && it.time <= this.#lo + this.span)];
    // The words of a finding come first: they stand where its band is.
    const pills = findings.slice(0, 1).map(({ it, x }) => {
      const [text, wide] = it.kind === "violation" ? ["violation", 66] : ["stuck", 46];
      const at = clamp(LEFT, x + 6 - wide / 2, width - wide - 2);
      return { at, wide, node: s("g", { class: "pill", transform: `translate(${at} 2)` }, s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 13 }, text)) };
    });
    const labels = views.map((it) => {
      const x = this.#x(it.time);
      const text = pills.some((pill) => x + 50 > pill.at && x < pill.at + pill.wide) ? null : room(x + 4, `view ${it.view}`);
      return [s("path", { d: `M${x} 6V${TOP}` }), text && s("text", { x: x + 4, y: 16 }, text)];
    });
    set(this.axis, { width });
    set(this.times, { width });
    fill(this.axis, labels, pills.map((it) => it.node));
    const about = this.span / Math.max(2, width / 110);
    const unit = 10 ** Math.floor(Math.log10(about));
    const every = unit * [1, 2, 5, 10].find((by) => unit * by >= about);
    const ticks = [];
    for (let time = Math.ceil(this.#lo / every) * every; time <= Math.min(this.#lo + this.span, this.data.last); time += every) ticks.push(time);
    const digits = Math.max(0, -Math.floor(Math.log10(every) + 1e-9));
    fill(this.times, ticks.filter((time) => this.#x(time) < width - 26).map((time) => [s("path", { d: `M${this.#x(time)} 0v5` }), s("text", { x: this.#x(time), y: 15, "text-anchor": "middle" }, `${time.toFixed(digits)} s`)]));
  }

  #head(width) {
    const event = this.events[this.at];
    const x = this.#x(event?.time ?? 0);
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
    const words = event ? says(event) : "Nothing is left to show";
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
  }

  #arrow(event) {
    const page = 20;
    const to = { ArrowRight: this.at + 1, ArrowUp: this.at + 1, ArrowLeft: this.at - 1, ArrowDown: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: this.events.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
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

  /** A drag moves the window, a click goes to the event. */
  #grab(event) {
    if (event.button !== 0) return;
    const [x, lo, { step }] = [event.clientX, this.#lo, this.#measure()];
    let far = false;
    const moved = (it) => {
      far ||= Math.abs(it.clientX - x) > 5;
      if (far) this.#pan(lo - (it.clientX - x) / step);
    };
    const end = (it) => {
      this.rows.removeEventListener("pointermove", moved);
      this.rows.removeEventListener("pointerup", end);
      if (far || !this.events.length) return;
      const box = this.sheet.getBoundingClientRect();
      const nodes = this.data.nodes.filter((node) => !this.hidden.nodes.has(node));
      const node = nodes[Math.floor(((it.clientY - box.top - 4) / (box.height - 8)) * nodes.length)];
      this.go(this.#near(this.#lo + (it.clientX - box.left - LEFT) / step, node));
    };
    this.rows.setPointerCapture(event.pointerId);
    this.rows.addEventListener("pointermove", moved);
    this.rows.addEventListener("pointerup", end);
  }

  #wheel(event) {
    const aside = event.shiftKey ? event.deltaY || event.deltaX : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (!event.ctrlKey && !aside) return;
    event.preventDefault();
    const { step } = this.#measure();
    if (event.ctrlKey) this.zoom(-event.deltaY / 100, this.#lo + (event.clientX - this.rows.getBoundingClientRect().left - LEFT) / step);
    else this.#pan(this.#lo + aside / step);
  }
}

const seconds = (span) => (span < 0.1 ? `${(span * 1000).toPrecision(2)} ms` : `${span < 10 ? span.toFixed(1) : Math.round(span)} s`);

/** A menu of boxes: nodes and kinds that are shown. */
function menu(line) {
  const part = (title, all, hidden) => h("fieldset", {}, h("legend", {}, title), all.map((it) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, onchange: ({ target }) => (hidden[target.checked ? "delete" : "add"](it), line.choose()) }), String(it))));
  const summary = h("summary", { class: "pair" }, "Nodes and kinds");
  const element = h("details", { class: "time-menu rec-menu", onkeydown: (event) => event.key === "Escape" && ((element.open = false), summary.focus()) }, summary, h("div", { class: "time-box" }, part("Nodes", line.data.nodes, line.hidden.nodes), part("Kinds", Object.keys(KINDS), line.hidden.kinds)));
  return element;
}

const LEGEND = [["alive", "runs"], ["leads", "leads"], ["grant", "holds"], ["wait", "waits"], ["lapsed", "no lease, or no answer"], ["out", "not a member"], ["still", "stands still"], ["part", "partition"]];

/** Shows the text of a recording instead of what is there. Throws what is wrong with it. */
export function show(root, text, name) {
  const data = new Recording(text);
  const { header } = data;
  const line = new Line(data);
  const button = (words, call) => h("button", { class: "button", onclick: call }, words);
  const names = h("select", { id: "rec-name", onchange: () => ((line.name = names.value), line.choose()) }, h("option", { value: "" }, `all ${many(data.names.length, "name")}`), data.names.map((it) => h("option", { value: it }, it)));
  const zoom = (words, sign, by) => h("button", { "aria-label": words, title: words, onclick: () => line.zoom(by) }, sign);
  const facts = [header.began_unix_seconds && `began at ${clock(header.began_unix_seconds * 1000)}`, seconds(data.last), many(data.nodes.length, "node"), many(data.views.length, "view"), many(data.events.length, "event"), (header.names || header.prefixes) && "some names only"].filter(Boolean);
  const amber = [data.missed > 0 && `${many(data.missed, "event is", "events are")} missing.`, !data.complete && "The recording was cut off."].filter(Boolean).join(" ");
  const found = data.findings.length;
  const legend = LEGEND.map(([kind, words]) => h("span", {}, s("svg", { width: 22, height: 12, "aria-hidden": "true" }, s("path", { class: `rec ${kind} pine`, d: { alive: "M0 1h22v10h-22z", leads: "M0 5h22v2.5h-22z", grant: "M0 3h22v6h-22z", lapsed: "M0 1h22v10h-22z", out: "M1 1h20v10h-20z", still: "M2 11l10 -10M8 11l10 -10M14 11l8 -8", part: "M1 2v8M1 6H21M21 2v8" }[kind] ?? "M0 6h22" })), words));
  const element = h(
    "div",
    { class: "view recording" },
    h("header", { class: "rec-title" }, h("h1", {}, header.title), h("p", { class: "quiet" }, `${name ? `${name}: ` : ""}${facts.join(", ")}. `, amber && h("span", { class: "amber" }, amber)), header.command && command(header.command)),
    h("div", { class: "rec-tools" }, h("label", { class: "rec-pick", for: "rec-name" }, "Name ", names), menu(line), h("div", { class: "pair", role: "group", "aria-label": "Zoom of time" }, h("span", { class: "quiet" }, "zoom"), zoom("More time", "−", -1), line.zoomed, zoom("Less time", "+", 1)), h("span", { class: "rec-go" }, button("Previous", () => line.go(line.at - 1)), button("Next", () => line.go(line.at + 1)), line.where, found > 0 && h("button", { class: "button danger-text", onclick: () => line.find(1) }, found > 1 ? `Next of ${count(found)} findings` : "Show the finding"))),
    h("section", { class: "panel rec-time-line", "aria-label": "Time" }, h("div", { class: "rec-plot" }, line.axis, line.rows, line.times, line.head), line.slider, line.sentence, h("p", { class: "rec-legend quiet" }, legend)),
    line.list,
  );
  fill(root, element);
  document.title = `${header.title} · Tokenwood`;
  line.choose();
  if (found) line.find(1);
  const keys = [
    { name: "ArrowRight", words: "next event", call: () => line.go(line.at + 1) },
    { name: "ArrowLeft", words: "previous event", call: () => line.go(line.at - 1) },
    { name: "Home", words: "first event", call: () => line.go(0) },
    { name: "End", words: "last event", call: () => line.go(line.events.length - 1) },
    { name: "F", words: "next finding", call: () => line.find(1) },
    { name: "]", words: "zoom in", call: () => line.zoom(1) },
    { name: "[", words: "zoom out", call: () => line.zoom(-1) },
  ];
  return { title: header.title, keys, ownKeys: true, leave: () => line.leave() };
}
