// Recordings to look at and to test with: runs of the swarm, a real cluster in trouble, and files that no program wrote.

import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { Stage, until } from "./stage.mjs";

const PROGRAM = process.env.TOKENWOOD_PROGRAM;
const run = promisify(execFile);

/** Records a run of the swarm. One that fails ends with another code. */
export async function swarm(folder, name, ...flags) {
  const file = path.join(folder, name);
  await run(PROGRAM, ["swarm", ...flags, "--record", file]).catch((failed) => {
    if (failed.code !== 1) throw failed;
  });
  return file;
}

/**
 * Records a cluster: clients hold and wait before it begins, one node stands still until the view is without it and then goes on,
 * another is killed for good.
 */
export async function cluster(folder, name) {
  const file = path.join(folder, name);
  const stage = await Stage.begin({ arguments: ["--processes", "--lease", "1s"] });
  try {
    const has = async (event, node) => (await fs.readFile(file, "utf8").catch(() => "")).split("\n").some((line) => line.includes(`"event":"${event}"`) && line.includes(`"node":${node},`));
    const seen = (event, node) => until(`${event} of node ${node}`, () => has(event, node));
    const { pid } = stage.nodes[2];
    stage.hold(0, "gpu", ["--slots", "2"], "early bird");
    stage.hold(2, "db", [], "doomed");
    stage.hold(1, "gpu", ["--slots", "2"], "train 7");
    const listed = async (what) => JSON.parse(await stage.says(["inspect", "gpu", "--format", "json"]))[what].length;
    await until("two hold", async () => (await listed("holders")) === 2);
    const next = stage.hold(1, "gpu", ["--slots", "2"], "train 8");
    await until("one waits", async () => (await listed("waiters")) === 1);
    const watch = stage.start(["watch", "--record", file]);
    for (const node of [0, 1, 2]) await seen("listed", node);
    for (let turn = 0; turn < 6; turn += 1) await stage.says(["run", turn % 2 ? "build" : "lint", "--label", `job ${turn}`, "--", "sleep", "0.2"]);
    process.kill(stage.nodes[1].pid, "SIGSTOP");
    await seen("out_of_view", 1);
    await seen("no_answer", 1);
    process.kill(stage.nodes[1].pid, "SIGCONT");
    await seen("comes_back", 1);
    await seen("answers", 1);
    process.kill(pid, "SIGKILL");
    await seen("out_of_view", 2);
    stage.hold(1, "db", [], "after it");
    await seen("granted", 1);
    await stage.kill(next);
    await stage.says(["run", "lint", "--", "sleep", "0.5"]);
    await stage.kill(watch, "SIGINT");
  } finally {
    await stage.end();
  }
  return file;
}

const header = { schema: "tokenwood.recording/1", kind: "cluster", title: "Cluster test", command: null, nodes: [0, 1, 2], began_unix_seconds: 1_795_000_000, names: null, prefixes: null };

/** Writes lines that no program wrote. */
export async function written(folder, name, lines, first = {}) {
  const file = path.join(folder, name);
  await fs.writeFile(file, [{ ...header, ...first }, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

export const request = (time, node, event, name, session, slot = null, more = {}) => ({ time, node, event, name, kind: "mutex", slots: 1, session, request: 1, slot, fence: slot === null ? null : 2 ** 40 + session, group: null, groups: null, shared: false, label: null, why: null, ...more });

export const empty = (folder) => written(folder, "empty.jsonl", [
  { time: 0.001, node: null, event: "view", view: 1, members: [0, 1, 2] },
  ...[0, 1, 2].map((node) => ({ time: 0.01, node, event: "listed", holders: 0, waiters: 0 })),
  { time: 20, node: null, event: "ends" },
]);

/** A cluster of five nodes that is busy for ten minutes: so many lines. */
export function huge(folder, count = 100_000) {
  const lines = [{ time: 0.001, node: null, event: "view", view: 1, members: [0, 1, 2, 3, 4] }, ...[0, 1, 2, 3, 4].map((node) => ({ time: 0.01, node, event: "listed", holders: 0, waiters: 0 }))];
  const rounds = Math.floor((count - lines.length - 2) / 3);
  for (let at = 0; at < rounds; at += 1) {
    const [from, node, name] = [0.02 + (at * 600) / rounds, at % 5, `job/${at % 400}`];
    const long = 0.01 + 0.04 * Math.abs(Math.sin(at / 3000 + node));
    lines.push(request(from, node, "waits", name, at), request(from + 0.0001, node, "granted", name, at, 0), request(from + long, node, "released", name, at, 0));
  }
  lines.sort((one, other) => one.time - other.time);
  return written(folder, "huge.jsonl", [...lines, { time: 601, node: null, event: "ends" }], { nodes: [0, 1, 2, 3, 4] });
}
