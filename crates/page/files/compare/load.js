// The load of a comparison: its parameters, their sliders, and the requests that they make.

import { h, say } from "../dom.js";

const tidy = (value) => String(Number(value.toPrecision(2)));
const log = (low, high, most) => ({ most, of: (at) => Number((low * (high / low) ** (at / most)).toPrecision(2)), at: (value) => Math.round((Math.log(value / low) / Math.log(high / low)) * most) });
const linear = (low, high, step) => ({ most: Math.round((high - low) / step), of: (at) => Number((low + at * step).toFixed(2)), at: (value) => Math.round((value - low) / step) });

/** An algorithm with one token, and one with groups, takes no k. */
const takesTokens = (entry, name) => name.startsWith("partitioned(") || entry?.kind === "k-mutex";

/** What a slider sets: its key in addresses, its words, its scale, the values of a curve over it, and which algorithms have it. */
export const SLIDERS = [
  { key: "n", words: "nodes n", start: 9, scale: linear(2, 30, 1), curve: [2, 4, 6, 9, 12, 15, 20, 25, 30] },
  { key: "k", words: "tokens k", start: 3, scale: linear(1, 10, 1), curve: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], of: takesTokens },
  { key: "rate", words: "rate λ", start: 0.2, scale: log(0.01, 2, 46), curve: [0.01, 0.016, 0.025, 0.04, 0.063, 0.1, 0.16, 0.25, 0.4, 0.63, 1], log: true },
  { key: "cs", words: "section E", start: 2, scale: linear(0.1, 10, 0.1), curve: [0.1, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10] },
  { key: "transit", words: "delay Tt", start: 0.8, scale: linear(0, 5, 0.1), curve: [0, 0.2, 0.4, 0.8, 1.2, 1.6, 2, 2.5, 3, 4, 5] },
];

/** What a field sets: its key in addresses, its words, its bounds, and which algorithms have it. */
export const FIELDS = [
  { key: "entries", words: "entries", least: 10, most: 500, start: 60 },
  { key: "groups", words: "groups", least: 2, most: 16, start: 2, of: (entry) => entry?.kind === "group-mutex" },
  { key: "clients", words: "clients a node", least: 1, most: 16, start: 1, of: (entry) => entry?.many_clients },
];

/** Most algorithms have no more tokens than nodes. Where that is so, what was not moved follows: returns its key, or null. */
export function follow(state, key, catalogue) {
  const bound = [state.a, state.b].some((name) => takesTokens(catalogue.get(name), name) && !catalogue.get(name)?.many_clients);
  if (!bound || state.k <= state.n) return null;
  const other = key === "k" ? "n" : "k";
  state[other] = state[key === "k" ? "k" : "n"];
  return other;
}

const SHAPES = ["constant", "uniform", "exponential", "heavy-tailed"];

/** The state of the view, as an address has it. What is no number, or out of range, is as if it were left out. */
export function readState({ match, query }) {
  const state = { a: decodeURIComponent(match[1] ?? "bulgannawar-vaidya"), b: decodeURIComponent(match[2] ?? "raymond-k") };
  for (const { key, start, scale } of SLIDERS) {
    const value = Number(query.get(key) ?? start);
    state[key] = value >= scale.of(0) && value <= scale.of(scale.most) ? value : start;
  }
  const among = (key, all) => (all.includes(query.get(key)) ? query.get(key) : null);
  const whole = (key) => (/^\d{1,9}$/.test(query.get(key) ?? "") ? Number(query.get(key)) : null);
  for (const { key, least, most, start } of FIELDS) {
    const value = whole(key);
    state[key] = value >= least && value <= most ? value : start;
  }
  return Object.assign(state, { delay: among("delay", SHAPES) ?? "constant", seed: whole("seed") ?? 7, at: whole("at"), over: among("over", SLIDERS.map(({ key }) => key)) ?? "rate", y: (query.get("y") ?? "").split(",") });
}

/** The setting of one side: what its algorithm has. */
export function setting(algorithm, state, catalogue) {
  const entry = catalogue.get(algorithm);
  const own = FIELDS.filter(({ of }) => of?.(entry)).map(({ key }) => [key, state[key]]);
  return { algorithm, nodes: state.n, clients: 1, ...(takesTokens(entry, algorithm) && { tokens: state.k }), ...Object.fromEntries(own) };
}

/** The fields as an address has them: what is not usual. */
export const fieldsOf = (state) => Object.fromEntries(FIELDS.map(({ key, start }) => [key, state[key] === start ? "" : String(state[key])]));

export const load = ({ rate, cs, transit, delay }) => ({ rate, cs, transit, delay });

/** Puts a slider where its value is. */
export function put(root, key, value) {
  const { scale } = SLIDERS.find((it) => it.key === key);
  const input = root.querySelector(`#load-${key}`);
  input.value = scale.at(value);
  input.setAttribute("aria-valuetext", tidy(value));
  say(root.querySelector(`output[for="load-${key}"]`), tidy(value));
}

/** Sliders, the shape of delays and fields. `changed(key, value)` is called while one drags. */
export function controls(state, changed) {
  const sliders = SLIDERS.map(({ key, words, scale }) => {
    const id = `load-${key}`;
    const shown = h("output", { for: id }, tidy(state[key]));
    const input = h("input", { type: "range", id, min: 0, max: scale.most, value: scale.at(state[key]), "aria-valuetext": tidy(state[key]), oninput: () => {
      const value = scale.of(Number(input.value));
      say(shown, tidy(value));
      input.setAttribute("aria-valuetext", tidy(value));
      changed(key, value);
    } });
    return h("div", { class: "slider", "data-field": key }, h("label", { for: id }, words), shown, input);
  });
  const shape = h("select", { onchange: () => changed("delay", shape.value) }, SHAPES.map((name) => h("option", { selected: name === state.delay }, name)));
  const fields = [...FIELDS, { key: "seed", words: "seed", least: 0, most: 999999999 }].map(({ key, words, least, most }) => {
    const input = h("input", { id: `load-${key}`, type: "number", min: least, max: most, value: state[key], onchange: () => {
      input.value = Math.max(least, Math.min(most, Math.round(Number(input.value) || 0)));
      changed(key, Number(input.value));
    } });
    return h("label", { "data-field": key }, words, input);
  });
  return [sliders, h("div", { class: "fields" }, h("label", {}, "delays", shape), fields)];
}
