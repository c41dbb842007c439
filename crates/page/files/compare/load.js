// The load of a comparison: its parameters, their sliders, and the requests that they make.

import { h, say } from "../dom.js";

/** Digits that tell neighbours on a slider apart. */
export const tidy = (value) => String(Number(value.toPrecision(value < 0.1 ? 1 : 2)));

const log = (low, high, steps) => ({ least: 0, most: steps, of: (at) => Number((low * (high / low) ** (at / steps)).toPrecision(2)), at: (value) => Math.round((Math.log(value / low) / Math.log(high / low)) * steps) });
const linear = (low, high, step) => ({ least: 0, most: Math.round((high - low) / step), of: (at) => Number((low + at * step).toFixed(2)), at: (value) => Math.round((value - low) / step) });

/** What a slider sets: its key in addresses, its words, its scale, and the values of a curve over it. */
export const SLIDERS = [
  { key: "n", words: "nodes n", start: 9, scale: linear(2, 30, 1), curve: [2, 4, 6, 9, 12, 15, 20, 25, 30] },
  { key: "k", words: "tokens k", start: 3, scale: linear(1, 10, 1), curve: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
  { key: "rate", words: "rate λ", start: 0.2, scale: log(0.01, 2, 46), curve: [0.01, 0.016, 0.025, 0.04, 0.063, 0.1, 0.16, 0.25, 0.4, 0.63, 1], log: true },
  { key: "cs", words: "section E", start: 2, scale: linear(0.1, 10, 0.1), curve: [0.1, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10] },
  { key: "transit", words: "delay Tt", start: 0.8, scale: linear(0, 5, 0.1), curve: [0, 0.2, 0.4, 0.8, 1.2, 1.6, 2, 2.5, 3, 4, 5] },
];

export const SHAPES = ["constant", "uniform", "exponential", "heavy-tailed"];
export const ENTRIES = 60;

/** The state of the view, as an address has it. What is no number, or out of range, is as if it were left out. */
export function readState({ match, query }) {
  const state = { a: match[1] ? decodeURIComponent(match[1]) : "bulgannawar-vaidya", b: match[2] ? decodeURIComponent(match[2]) : "raymond-k" };
  for (const { key, start, scale } of SLIDERS) {
    const value = query.has(key) ? Number(query.get(key)) : start;
    state[key] = Number.isFinite(value) ? Math.min(scale.of(scale.most), Math.max(scale.of(0), value)) : start;
  }
  state.delay = SHAPES.includes(query.get("delay")) ? query.get("delay") : "constant";
  const whole = (name, otherwise) => (/^\d{1,9}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : otherwise);
  state.seed = whole("seed", 7);
  state.at = whole("at", null);
  state.over = SLIDERS.some((it) => it.key === query.get("over")) ? query.get("over") : "rate";
  state.y = (query.get("y") ?? "").split(",");
  return state;
}

/** The setting of one side. An algorithm with one token, and one with groups, takes no k. */
export function setting(algorithm, state, catalogue) {
  const kind = catalogue.get(algorithm.replace(/^partitioned\((.*)\)$/, "$1"))?.kind;
  const many = kind === "k-mutex" || algorithm.startsWith("partitioned(");
  return { algorithm, nodes: state.n, clients: 1, ...(many ? { tokens: state.k } : {}) };
}

export const load = (state) => ({ rate: state.rate, cs: state.cs, transit: state.transit, delay: state.delay });

/** Sliders, the shape of delays and the seed. `changed(key, value)` is called while one drags. */
export function controls(state, changed) {
  const sliders = SLIDERS.map(({ key, words, scale }) => {
    const shown = h("output", { for: `load-${key}` }, tidy(state[key]));
    const input = h("input", { type: "range", id: `load-${key}`, min: scale.least, max: scale.most, step: 1, value: scale.at(state[key]), "aria-valuetext": tidy(state[key]), oninput: () => {
      const value = scale.of(Number(input.value));
      say(shown, tidy(value));
      input.setAttribute("aria-valuetext", tidy(value));
      changed(key, value);
    } });
    return h("div", { class: "slider" }, h("label", { for: `load-${key}` }, words), shown, input);
  });
  const shape = h("select", { id: "load-delay", onchange: () => changed("delay", shape.value) }, SHAPES.map((name) => h("option", { selected: name === state.delay }, name)));
  const seed = h("input", { id: "load-seed", type: "number", min: 0, max: 999999999, value: state.seed, onchange: () => {
    const value = Math.max(0, Math.min(999999999, Math.round(Number(seed.value) || 0)));
    seed.value = value;
    changed("seed", value);
  } });
  return [sliders, h("div", { class: "field" }, h("label", { for: "load-delay" }, "delays"), shape), h("div", { class: "field seed" }, h("label", { for: "load-seed" }, "seed"), seed)];
}
