// The icons of the page, drawn with the colour of the text around them.

import { s } from "../dom.js";

const line = (...paths) => paths.map((d) => s("path", { d }));
const ring = (cx, cy, r) => s("circle", { cx, cy, r });
const dot = (cx, cy, r) => s("circle", { cx, cy, r, class: "solid" });

const ICONS = {
  search: () => [ring(7, 7, 4.6), ...line("M10.5 10.5 14 14")],
  moon: () => line("M13.4 9.9A5.8 5.8 0 0 1 6.1 2.6a5.8 5.8 0 1 0 7.3 7.3z"),
  sun: () => [ring(8, 8, 2.7), ...line("M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1")],
  help: () => [ring(8, 8, 6.4), ...line("M6.1 6.2a1.9 1.9 0 1 1 2.7 1.9c-.6.3-.8.6-.8 1.2"), dot(8, 11.6, 0.8)],
  mutex: () => [ring(8, 8, 6), dot(8, 8, 2.3)],
  semaphore: () => [ring(5.4, 5.6, 3.7), ring(10.6, 5.6, 3.7), ring(8, 10.4, 3.7)],
  rwlock: () => line("M2 4h12M2 8h12M2 12h7.5"),
  room: () => [s("rect", { x: 1.8, y: 3, width: 12.4, height: 10, rx: 2.6 }), dot(5.9, 8, 1.3), dot(10.1, 8, 1.3)],
  live: () => [ring(8, 8, 6), dot(8, 8, 2.8)],
  events: () => line("M5.6 4H14M5.6 8H14M5.6 12H14", "M2.2 4h.1M2.2 8h.1M2.2 12h.1"),
  copy: () => [s("rect", { x: 5.4, y: 5.4, width: 8.4, height: 8.4, rx: 1.8 }), ...line("M10.6 5.2V3.8A1.6 1.6 0 0 0 9 2.2H3.8a1.6 1.6 0 0 0-1.6 1.6V9a1.6 1.6 0 0 0 1.6 1.6h1.4")],
  close: () => line("M3.5 3.5l9 9M12.5 3.5l-9 9"),
  play: () => [s("path", { d: "M4.6 2.8v10.4L13 8z", class: "solid" })],
  pause: () => [s("path", { d: "M4 3h2.8v10H4zM9.2 3H12v10H9.2z", class: "solid" })],
  first: () => [...line("M3.6 3.5v9"), s("path", { d: "M12.4 3.6v8.8L5.6 8z", class: "solid" })],
  last: () => [...line("M12.4 3.5v9"), s("path", { d: "M3.6 3.6v8.8L10.4 8z", class: "solid" })],
  open: () => line("M8 10.5V2.5M4.8 5.4 8 2.3l3.2 3.1M2.2 10v2.4c0 .7.5 1.2 1.2 1.2h9.2c.7 0 1.2-.5 1.2-1.2V10"),
  back: () => line("M4.4 3.5v9M11.6 3.8 7.4 8l4.2 4.2"),
  step: () => line("M11.6 3.5v9M4.4 3.8 8.6 8l-4.2 4.2"),
  begin: () => line("M7.8 3.8 3.6 8l4.2 4.2M12.4 3.8 8.2 8l4.2 4.2"),
  end: () => line("M8.2 3.8 12.4 8l-4.2 4.2M3.6 3.8 7.8 8l-4.2 4.2"),
  left: () => line("M10 3.5 5.5 8l4.5 4.5"),
  down: () => line("M4.5 6.4 8 9.9l3.5-3.5"),
  more: () => [dot(3.2, 8, 1.2), dot(8, 8, 1.2), dot(12.8, 8, 1.2)],
  check: () => line("M3 8.6 6.4 12 13 4.6"),
  hollow: () => [ring(8, 8, 3.2)],
  find: () => [ring(8, 8, 6), ring(8, 8, 2.4)],
  share: () => line("M6.6 9.4a2.8 2.8 0 0 0 4 0l2.3-2.3a2.8 2.8 0 0 0-4-4L7.8 4.2M9.4 6.6a2.8 2.8 0 0 0-4 0L3.1 8.9a2.8 2.8 0 0 0 4 4l1.1-1.1"),
  export: () => line("M8 2.5v7.6M4.9 7.2 8 10.2l3.1-3M2.6 13.2h10.8"),
  branch: () => [ring(4.5, 3.6, 1.6), ring(4.5, 12.4, 1.6), ring(11.5, 5.4, 1.6), ...line("M4.5 5.2v5.6M11.5 7c0 2.6-7 1.4-7 3.8")],
  gallery: () => line("M2.5 3h4.6v4.4H2.5zM8.9 3h4.6v4.4H8.9zM2.5 9h4.6v4.4H2.5zM8.9 9h4.6v4.4H8.9z"),
  compare: () => line("M2 4h5v8.5H2zM9 4h5v8.5H9z"),
  key: () => [ring(5.2, 10.8, 3.1), ...line("M7.4 8.6l6-6M11 5l2 2")],
};

/** An icon that only decorates: what it means stands beside it, or in the name of its button. */
export function icon(name, size = 16) {
  return s("svg", { class: "icon", viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true" }, (ICONS[name] ?? ICONS.mutex)());
}

/** The sign of Tokenwood: a slice of wood. */
export function sign(size = 22) {
  return s("svg", { class: "icon sign", viewBox: "0 0 22 22", width: size, height: size, "aria-hidden": "true" }, ring(11, 11, 9.8), ring(11, 11, 6), dot(12, 11.6, 2.7));
}
