// Recordings at every size, light and dark, to be looked at: `node looks-recording.mjs FOLDER [NAME…]`, with TOKENWOOD_PROGRAM and
// TOKENWOOD_MODULES as the tests have them. A name chooses the views that begin with it.

import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { cluster, empty, huge, swarm, written } from "./recordings.mjs";
import { Stage } from "./stage.mjs";

const [folder, ...wanted] = process.argv.slice(2);
const SIZES = [[1280, 800], [900, 800], [390, 844], [1920, 1080]];
const files = await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-looks-"));
const key = (...names) => async (page) => {
  for (const name of names) await page.keyboard.press(name);
};

const bad = async () => {
  const file = path.join(files, "bad.jsonl");
  await fs.writeFile(file, (await fs.readFile(await written(files, "good.jsonl", []), "utf8")) + "{\"time\":1\n{}\n");
  return file;
};
const old = async () => {
  const file = await cluster(files, "new.jsonl");
  const text = await fs.readFile(file, "utf8");
  await fs.writeFile(path.join(files, "old.jsonl"), text.split("\n").filter((line) => !/"event":"(holding|waiting|listed|out_of_view)"/.test(line)).join("\n"));
  return path.join(files, "old.jsonl");
};
const named = async (page) => page.locator("#rec-name").selectOption({ index: 1 });
const menu = async (page) => page.getByText("Nodes and kinds").click();

const memory = new Map();
const once = (name, make) => async () => memory.get(name) ?? memory.set(name, await make()).get(name);
const ofCluster = once("cluster", () => cluster(files, "cluster.jsonl"));
const failed = once("failed", () => swarm(files, "failed.jsonl", "--defect", "node-clock-sleeps"));
const long = once("long", () => swarm(files, "long.jsonl", "--seed", "4"));
const short = once("short", () => swarm(files, "short.jsonl", "--seed", "9"));
const many = once("huge", () => huge(files));

/** [name, file, what is done then] */
const VIEWS = [
  ["failed", failed],
  ["short", short],
  ["name", short, named],
  ["zoomed", short, key("End", "]", "]", "]")],
  ["menu", short, menu],
  ["table", failed, key("T")],
  ["export", failed, key("X")],
  ["stage", failed, key("P")],
  ["long", long],
  ["cluster", ofCluster, key("End")],
  ["cluster-start", ofCluster],
  ["old", old, key("End")],
  ["empty", () => empty(files)],
  ["huge", many, key("PageDown", "PageDown")],
  ["huge-zoomed", many, key(..."]".repeat(10))],
  ["bad", bad],
];

await fs.mkdir(folder, { recursive: true });
const stage = await Stage.play();
await stage.browse();
try {
  for (const [name, make, act] of VIEWS) {
    if (wanted.length && !wanted.some((it) => name.startsWith(it))) continue;
    const file = await make();
    for (const [width, height] of SIZES) {
      const page = await stage.page("/ui/open", { width, height });
      await page.setInputFiles("#file", file);
      await page.locator(name === "bad" ? "[role=alert] strong" : ".recording").waitFor();
      await act?.(page);
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.waitForTimeout(400);
        await page.screenshot({ path: path.join(folder, `${name}-${width}-${theme}.png`) });
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) console.log(`${name} at ${width}: wider than the window`);
      if (page.wrongs.length) console.log(`${name} at ${width}: ${page.wrongs.join("\n")}`);
      await page.close();
    }
  }
} finally {
  await stage.end();
  await fs.rm(files, { recursive: true, force: true });
}
