// What stands above and below the rows: views and findings, seconds. Labels that would touch are left out.

import { s } from "../dom.js";

export const TOP = 24;
const clamp = (low, value, high) => Math.max(low, Math.min(high, value));

export function views(data, { width, left, lo, hi, x }, findings) {
  let free = left - 2;
  const room = (at, text) => {
    const wide = text.length * 6.4 + 10;
    if (at < free || at + wide > width + 6) return null;
    free = at + wide;
    return text;
  };
  const current = data.views.findLast((it) => it.time <= lo);
  const shown = [...(current ? [{ ...current, time: lo }] : []), ...data.views.filter((it) => it.time > lo && it.time <= hi)];
  // The words of a finding come first: they stand where its band is.
  const pills = findings.slice(0, 1).map(({ it, x }) => {
    const [text, wide] = it.kind === "violation" ? ["violation", 66] : ["stuck", 46];
    const at = clamp(left, x + 6 - wide / 2, width - wide - 2);
    return { at, wide, node: s("g", { class: "pill", transform: `translate(${at} 2)` }, s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 13 }, text)) };
  });
  const labels = shown.map((it) => {
    const at = x(it.time);
    const text = pills.some((pill) => at + 50 > pill.at && at < pill.at + pill.wide) ? null : room(at + 4, `view ${it.view}`);
    return [s("path", { d: `M${at} 6V${TOP}` }), text && s("text", { x: at + 4, y: 16 }, text)];
  });
  return [labels, pills.map((it) => it.node)];
}

export function times({ width, lo, hi, end, x }) {
  const about = (hi - lo) / Math.max(2, width / 110);
  const unit = 10 ** Math.floor(Math.log10(about));
  const every = unit * [1, 2, 5, 10].find((by) => unit * by >= about);
  const ticks = [];
  for (let time = Math.ceil(lo / every) * every; time <= Math.min(hi, end); time += every) ticks.push(time);
  const digits = Math.max(0, -Math.floor(Math.log10(every) + 1e-9));
  return ticks.filter((time) => x(time) < width - 26).map((time) => [s("path", { d: `M${x(time)} 0v5` }), s("text", { x: x(time), y: 15, "text-anchor": "middle" }, `${time.toFixed(digits)} s`)]);
}
