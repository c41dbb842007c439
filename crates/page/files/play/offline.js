// A file that shows one run and needs no server: all its states are in the file. Begins by itself.

import * as keys from "../keys.js";
import { Run } from "./model.js";
import { playView } from "./view.js";

const { setting, steps, at, title, rules, violated, states, entry } = JSON.parse(document.getElementById("run").textContent);

/** Answers as the server does, with what the file has. */
const run = new Run({
  canAct: false,
  catalogue: async () => [entry ?? { name: setting.algorithm, notes: [], properties: [], bears: {}, options: [], defects: [], rules }],
  play: async ({ want }) => ({ setting, steps, rules, violated, states: want.flatMap((it) => states.slice(it[0] ?? it, (it[1] ?? it) + 1)) }),
});

const view = playView(document.getElementById("main"), run, { offline: true });
for (const { name, words, call } of view.keys) keys.key(name, words, call);
keys.start();
run.load(setting, steps, at ?? 0);
document.title = `${title ?? setting.algorithm} · Tokenwood`;
