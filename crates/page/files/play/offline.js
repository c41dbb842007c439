// A file that shows one run and needs no server: all its states are in the file. Begins by itself.

import { h } from "../dom.js";
import * as keys from "../keys.js";
import { Run } from "./model.js";
import { playView } from "./view.js";

const { setting, steps, at = 0, title, rules, states, entry } = JSON.parse(document.getElementById("run").textContent);

function violated() {
  for (const state of states) {
    const wrong = state.properties.find((it) => it.verdict === "violated");
    if (wrong) return { at: state.at, property: wrong.name, detail: wrong.detail };
  }
  return null;
}

const first = violated();
const about = { name: setting.algorithm, kind: setting.groups > 1 ? "group-mutex" : "", many_clients: setting.clients > 1, notes: [], properties: [], bears: {}, options: [], defects: [], rules };

/** Answers as the server does, with what the file has. */
const source = {
  canAct: false,
  catalogue: async () => [entry ?? about],
  play: async ({ want }) => ({ setting, steps, rules, violated: first, states: want.flatMap((it) => states.slice(it[0] ?? it, (it[1] ?? it) + 1)) }),
};

const run = new Run(source);
const main = document.getElementById("main");
const view = playView(main, run, { offline: true });
if (!view.element.isConnected) main.append(view.element);
if (title) document.title = `${title} · Tokenwood`;
if (!document.querySelector("h1")) main.prepend(h("h1", { class: "hidden-text" }, title ?? setting.algorithm));
run.addEventListener("change", ({ detail }) => view.update(detail.what));
for (const it of view.keys ?? []) keys.key(...it);
keys.start();
await run.load(setting, steps, Math.min(at, steps.length));
