// A chart of two lines, with its numbers as a table behind it. Form tells the lines apart as well: one is whole, one dashed.

import { fill, h, s } from "../dom.js";
import { figure } from "../words.js";

const n = (value) => value.toFixed(1);
const HEIGHT = 176;
const [LEFT, RIGHT, TOP, BOTTOM] = [40, 14, 12, 26];
export const TONES = ["t0", "t3"];

/** Round numbers up to at least `most`. */
function ticks(most, wanted = 3) {
  const raw = most / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((it) => it * power).find((it) => it >= raw * 0.999) ?? power * 10;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) => at * step);
}

export class Chart {
  #facts = null;
  #width = 0;
  #asTable = false;

  /** A title, or what chooses one, with a name. */
  constructor(title, about) {
    const named = typeof title === "string";
    this.about = h("p", { class: "quiet" }, about);
    this.svg = s("svg", { class: "chart-lines", height: HEIGHT, role: "img" });
    this.table = h("div", { class: "chart-table", hidden: true, tabindex: "0", role: "region" });
    this.head = h("div", { class: "bar" }, named ? h("h2", {}, title) : title, this.about);
    this.element = h("section", { class: "panel chart-panel", "aria-label": named ? title : about }, this.head, this.svg, this.table);
    this.watch = new ResizeObserver(() => this.svg.clientWidth !== this.#width && this.#draw());
    this.watch.observe(this.element);
  }

  /** {title, x: {words, log, most, least}, mark, lines: [{name, points: [[x, y, error]], kind}], most, y: words}. */
  show(facts) {
    this.#facts = facts;
    this.#draw();
  }

  asTable(on) {
    this.#asTable = on;
    this.table.hidden = !on;
    this.svg.classList.toggle("gone", on);
    this.#draw();
  }

  leave() {
    this.watch.disconnect();
  }

  #draw() {
    const facts = this.#facts;
    if (!facts) return;
    if (this.#asTable) return this.#tabulate();
    const width = (this.#width = this.svg.clientWidth);
    if (width < 60) return;
    const known = facts.lines.flatMap(({ points }) => points.filter(([, y]) => y !== null));
    const xs = facts.lines.flatMap(({ points }) => points.map(([x]) => x));
    const [least, most] = [facts.x.least ?? Math.min(...xs), facts.x.most ?? Math.max(...xs)];
    const scale = facts.x.log ? Math.log : (value) => value;
    const x = (value) => LEFT + ((scale(value) - scale(least)) / (scale(most) - scale(least) || 1)) * (width - LEFT - RIGHT);
    const levels = ticks(Math.max(facts.most ?? 0, ...known.map(([, y, error]) => y + (error ?? 0)), 1e-9));
    const y = (value) => HEIGHT - BOTTOM - (Math.max(0, value) / levels.at(-1)) * (HEIGHT - TOP - BOTTOM);
    const parts = levels.map((level) => [s("path", { class: "run-lane", d: `M${LEFT} ${n(y(level))}H${width - RIGHT}` }), s("text", { class: "tick y", x: LEFT - 7, y: y(level) }, figure(level))]);
    parts.push((facts.x.ticks ?? [least, most]).map((value, index, all) => s("text", { class: `tick x ${index === all.length - 1 && all.length > 1 ? "last" : index === 0 ? "first" : ""}`, x: x(value), y: HEIGHT - 9 }, figure(value))));
    if (facts.mark !== undefined && facts.mark !== null && facts.mark >= least && facts.mark <= most) parts.push(s("path", { class: "chart-mark", d: `M${n(x(facts.mark))} ${TOP}V${HEIGHT - BOTTOM}` }));
    facts.lines.forEach((line, index) => parts.push(this.#line(line, TONES[index], index, x, y)));
    parts.push(this.#names(facts, x, y, width));
    fill(this.svg, parts);
    this.svg.setAttribute("aria-label", `${facts.title}: ${facts.lines.map(({ name, points }) => `${name} ${words(points)}`).join("; ")}. The key T shows the numbers.`);
  }

  #line({ points, kind = "line" }, tone, index, x, y) {
    let [d, band, back, open, dots] = ["", "", "", false, ""];
    let last = null;
    for (const [at, value, error] of points) {
      if (value === null) {
        open = false;
        continue;
      }
      const [px, py] = [n(x(at)), n(y(value))];
      d += open ? (`L${px} ${py}`) : `M${px} ${py}`;
      if (open && last && error !== null && error !== undefined) band += `M${n(x(last[0]))} ${n(y(last[1] + last[2]))}L${px} ${n(y(value + error))}V${n(y(value - error))}L${n(x(last[0]))} ${n(y(last[1] - last[2]))}Z`;
      open = true;
      last = error === null || error === undefined ? null : [at, value, error];
      dots += `M${n(x(at) - 2)} ${py}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
    }
    return s("g", { class: `${tone} ${index ? "second" : "first"}` }, band && s("path", { class: "chart-band", d: band }), kind !== "dots" && s("path", { class: "chart-line", d }), (kind === "dots" || kind === "points") && s("path", { class: "chart-dots", d: dots }));
  }

  /** Names stand where the lines are farthest apart: the upper one above its line, the lower one below. */
  #names({ lines: [a, b], named = true }, x, y, width) {
    let best = null;
    a.points.forEach(([at, value], index) => {
      const other = b.points[index]?.[1] ?? null;
      if (named && value !== null && other !== null && (!best || Math.abs(value - other) > Math.abs(best[1] - best[2]))) best = [at, value, other];
    });
    if (!best) return [];
    const [at, ...values] = best;
    const near = Math.max(LEFT + 4, Math.min(width - RIGHT - 4, x(at)));
    return [a, b].map(({ name }, index) => {
      const upper = values[index] > values[1 - index] || (values[0] === values[1] && !index);
      const place = y(values[index]) + (upper || y(values[index]) > HEIGHT - BOTTOM - 20 ? -11 : 13);
      return s("text", { class: "chart-name", x: near, y: Math.max(TOP - 4, place), "text-anchor": near > width / 2 ? "end" : "start" }, name);
    });
  }

  #tabulate() {
    const { lines, x, title } = this.#facts;
    const rows = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
    const errors = lines.some(({ points }) => points.some(([, , error]) => error !== null && error !== undefined));
    const cell = (points, at) => {
      const found = points.find(([value]) => value === at);
      return found && found[1] !== null ? `${exact(found[1])}${errors && found[2] !== null && found[2] !== undefined ? ` ± ${exact(found[2])}` : ""}` : "–";
    };
    this.table.setAttribute("aria-label", `${title}, as a table`);
    fill(this.table, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, x.words), lines.map(({ name }) => h("th", { scope: "col", class: "number" }, name)))), h("tbody", {}, rows.map((at) => h("tr", {}, h("th", { scope: "row" }, exact(at)), lines.map(({ points }) => h("td", { class: "number" }, cell(points, at))))))));
  }
}

/** Four digits: more than the eye needs, fewer than noise. */
const exact = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4))));

function words(points) {
  const known = points.filter(([, value]) => value !== null);
  if (known.length === 0) return "not known yet";
  return `from ${figure(known[0][1])} to ${figure(known.at(-1)[1])}`;
}
