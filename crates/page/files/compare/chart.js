// A chart of two lines, with its numbers as a table behind it. Form tells the lines apart as well: one is whole, one dashed.

import { fill, h, s } from "../dom.js";
import { count, figure } from "../words.js";

const n = (value) => value.toFixed(1);
const HEIGHT = 176;
const [LEFT, RIGHT, TOP, BOTTOM] = [40, 14, 12, 26];
const known = (value) => value !== null && value !== undefined;

/** Round numbers up to at least `most`. */
function ticks(most) {
  const raw = most / 3;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((it) => it * power >= raw * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) => at * step);
}

/** The numbers beside an axis are round: no zeros at their end. */
const tick = (value) => (value < 1000 ? String(Number(value.toPrecision(3))) : count(value));

/** Four digits: more than the eye needs, fewer than noise. */
const exact = (value) => String(Number(value.toPrecision(Math.abs(value) < 9999 ? 4 : 9)));

export class Chart {
  #facts = null;
  #width = 0;

  /** A title and what is said of it; or what chooses a title, and a name for both. */
  constructor(title, about) {
    const named = typeof title === "string";
    this.about = h("p", { class: "quiet" }, about);
    this.svg = s("svg", { class: "chart", height: HEIGHT, role: "img" });
    this.table = h("div", { class: "chart-table", hidden: true, tabindex: "0", role: "region" });
    this.element = h("section", { class: "panel chart-panel", "aria-label": named ? title : about }, h("div", { class: "bar" }, named ? h("h2", {}, title) : title, this.about), this.svg, this.table);
    this.watch = new ResizeObserver(() => this.svg.clientWidth !== this.#width && this.#draw());
    this.watch.observe(this.element);
  }

  /** {title, x: {words, log, least, most, ticks}, mark (or one for each line), dots, named, lines: two of {name, points: [[x, y, error]]}}. */
  show(facts) {
    this.#facts = facts;
    this.#draw();
  }

  asTable(on) {
    this.table.hidden = !on;
    this.svg.toggleAttribute("hidden", on);
    this.#draw();
  }

  leave() {
    this.watch.disconnect();
  }

  #draw() {
    const facts = this.#facts;
    if (!facts) return;
    if (!this.table.hidden) return this.#tabulate(facts);
    const width = (this.#width = this.svg.clientWidth);
    if (width < 60) return;
    const { least, most, log, ticks: along = [least, most] } = facts.x;
    const scale = log ? Math.log : (value) => value;
    const levels = ticks(Math.max(1e-9, ...facts.lines.flatMap(({ points }) => points.map(([, y, error]) => (y ?? 0) + (error ?? 0)))));
    // Large numbers need more room beside the axis.
    const left = Math.max(LEFT, 12 + 6.4 * Math.max(...levels.map((level) => tick(level).length)));
    const x = (value) => left + ((scale(value) - scale(least)) / (scale(most) - scale(least) || 1)) * (width - left - RIGHT);
    const y = (value) => HEIGHT - BOTTOM - (Math.max(0, value) / levels.at(-1)) * (HEIGHT - TOP - BOTTOM);
    const text = (value, at, height, anchor) => s("text", { x: n(at), y: n(height), "text-anchor": anchor }, tick(value));
    fill(
      this.svg,
      levels.map((level) => [s("path", { class: "run-lane", d: `M${n(left)} ${n(y(level))}H${width - RIGHT}` }), text(level, left - 7, y(level), "end")]),
      along.map((value, index) => text(value, x(value), HEIGHT - 9, index === 0 ? "start" : index === along.length - 1 ? "end" : "middle")),
      [facts.mark].flat().filter((mark) => known(mark) && mark >= least && mark <= most).map((mark, index, all) => s("path", { class: `mark ${all.length > 1 ? ["t0", "t3"][index] : ""}`, d: `M${n(x(mark))} ${TOP}V${HEIGHT - BOTTOM}` })),
      facts.lines.map(({ points }, index) => this.#line(points, facts.dots, index, x, y)),
      facts.named === false ? [] : this.#names(facts.lines, x, y, left, width),
    );
    const words = ({ name, points }) => {
      const all = points.filter(([, value]) => known(value));
      return `${name} ${all.length ? `from ${figure(all[0][1])} to ${figure(all.at(-1)[1])}` : "not known yet"}`;
    };
    this.svg.setAttribute("aria-label", `${facts.title}: ${facts.lines.map(words).join("; ")}. The key T shows the numbers.`);
  }

  /** Gaps stay gaps; the band is the error on both sides. */
  #line(points, dotted, index, x, y) {
    let [line, band, dots, last] = ["", "", "", null];
    for (const point of points) {
      const [at, value, error] = point;
      if (!known(value)) {
        last = null;
        continue;
      }
      const [px, py] = [n(x(at)), n(y(value))];
      line += `${last ? "L" : "M"}${px} ${py}`;
      if (last && known(error) && known(last[2])) band += `M${n(x(last[0]))} ${n(y(last[1] + last[2]))}L${px} ${n(y(value + error))}V${n(y(value - error))}L${n(x(last[0]))} ${n(y(last[1] - last[2]))}Z`;
      if (dotted) dots += `M${n(x(at) - 2)} ${py}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
      last = point;
    }
    return s("g", { class: index ? "t3 second" : "t0" }, s("path", { class: "band", d: band }), s("path", { class: "line", d: line }), s("path", { class: "dots", d: dots }));
  }

  /** Names stand where the lines are farthest apart: above them if there is room, else the lower one below; in a corner if that
   * is nowhere. */
  #names([a, b], x, y, left, width) {
    let best = null;
    a.points.forEach(([at, value], index) => {
      const other = b.points[index]?.[1];
      if (known(value) && known(other) && (!best || Math.abs(value - other) > Math.abs(best[1] - best[2]))) best = [at, value, other];
    });
    if (!best) return [];
    const [at, ...values] = best;
    const apart = Math.abs(y(values[0]) - y(values[1]));
    if (apart < 28) return [a, b].map(({ name }, index) => s("g", { class: index ? "t3 second" : "t0", transform: `translate(${n(left + 8)} ${TOP + 4 + 17 * index})` }, s("path", { class: "line", d: "M0 0H22" }), s("text", { class: "name", x: 28 }, name)));
    const near = Math.max(left + 4, Math.min(width - RIGHT - 4, x(at)));
    return [a, b].map(({ name }, index) => {
      const place = y(values[index]);
      const above = apart > 44 || values[index] > values[1 - index];
      return s("text", { class: "name", x: n(near), y: n(Math.max(TOP - 4, place + (above ? -11 : 13))), "text-anchor": near > width / 2 ? "end" : "start" }, name);
    });
  }

  #tabulate({ lines, x, title }) {
    const rows = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
    const cell = ({ points }, at) => {
      const [, value, error] = points.find(([it]) => it === at) ?? [];
      return known(value) ? exact(value) + (known(error) ? ` ± ${exact(error)}` : "") : "–";
    };
    this.table.setAttribute("aria-label", `${title}, as a table`);
    fill(this.table, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, x.words), lines.map(({ name }) => h("th", { scope: "col", class: "number" }, name)))), h("tbody", {}, rows.map((at) => h("tr", {}, h("th", { scope: "row" }, exact(at)), lines.map((line) => h("td", { class: "number" }, cell(line, at))))))));
  }
}
