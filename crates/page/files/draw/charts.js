// Small charts: a line of the last moments, bars of the last minutes. Gaps stay gaps.

import { s } from "../dom.js";

/** A line with the ground below it shaded. `points` has numbers and nulls; the newest is at the right edge. */
export function sparkline(points, most, width = 66, height = 30) {
  const known = points.filter((value) => value !== null && Number.isFinite(value));
  const top = Math.max(...known, 0) * 1.15 || 1;
  const x = (index) => ((most - points.length + index) / (most - 1)) * (width - 4) + 1;
  const y = (value) => height - 2 - (value / top) * (height - 8);
  let [line, area, open] = ["", "", null];
  points.forEach((value, index) => {
    const known = value !== null && Number.isFinite(value);
    if (known) {
      const at = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      line += `${open === null ? "M" : "L"}${at}`;
      area += open === null ? `M${x(index).toFixed(1)} ${height}L${at}` : `L${at}`;
      open = index;
    }
    if (open !== null && (!known || index === points.length - 1)) {
      area += `L${x(known ? index : open).toFixed(1)} ${height}Z`;
      if (!known) open = null;
    }
  });
  const last = points.at(-1);
  const dot = last !== null && last !== undefined && Number.isFinite(last);
  return s(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height },
    s("line", { class: "base", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
    s("path", { class: "area", d: area }),
    s("path", { class: "line", d: line }),
    dot && s("circle", { class: "end", cx: x(points.length - 1), cy: y(last), r: 2.4 }),
  );
}

/** Bars: one number each, the newest at the right. */
export function bars(numbers, width = 116, height = 24) {
  const top = Math.max(...numbers, 1);
  const step = width / numbers.length;
  const recent = numbers.length - 3;
  const drawn = numbers.map((number, index) => {
    if (!number) return null;
    const tall = Math.max(2, (number / top) * height);
    return s("rect", { class: index >= recent ? "now" : null, x: (index * step).toFixed(1), y: (height - tall).toFixed(1), width: (step - 1.2).toFixed(1), height: tall.toFixed(1), rx: 0.8 });
  });
  return s("svg", { class: "bars", viewBox: `0 0 ${width} ${height + 1}`, width, height: height + 1, "aria-hidden": "true" }, s("line", { class: "base", x1: 0, x2: width, y1: height + 0.5, y2: height + 0.5 }), drawn);
}
