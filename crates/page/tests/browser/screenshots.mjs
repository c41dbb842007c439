// The pictures of the documentation: a lively cluster of five nodes, as the page shows it.

import fs from "node:fs/promises";
import path from "node:path";

import { squeezed } from "./png.mjs";
import { playerPictures } from "./screenshots-player.mjs";
import { Stage, until } from "./stage.mjs";

const folder = process.argv[2];
await playerPictures(folder);
const stage = await Stage.begin({ nodes: 5, arguments: ["--log-level", "error"] });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let ends = false;

/** A client that acquires, holds and releases, again and again. */
async function client(name, query, label, hold, rest) {
  for (let turn = 0; !ends; turn += 1) {
    const node = Math.floor(Math.random() * stage.nodes.length);
    const lock = `/v1/locks/${encodeURIComponent(name)}`;
    try {
      const { grant } = await stage.ask("POST", `${lock}/acquire?wait=60s&label=${encodeURIComponent(label)}${query(turn)}`, node);
      await pause(hold * (0.5 + Math.random()));
      await fetch(`http://${stage.nodes[node].http}${lock}?grant=${encodeURIComponent(grant)}`, { method: "DELETE" });
    } catch (error) {
      if (!ends) console.error(error.message);
    }
    await pause(rest * Math.random());
  }
}

const plain = () => "";
const CLIENTS = [
  ["gpu", () => "&slots=3", ["train.py --fold 3", "train.py --fold 5", "train.py --fold 6", "render-preview", "export-onnx", "eval.sh v41", "eval.sh v42"], 4000, 600],
  ["render/frames", () => "&slots=4", ["frames 0-99", "frames 100-199", "frames 200-299", "frames 300-399", "frames 400-499"], 3000, 300],
  ["license/solver", () => "&slots=5", ["solve", "solve again", "batch"], 5000, 2000],
  ["model", (turn) => `&group=${turn % 2 ? "v41" : "v42"}`, ["serve a", "serve b", "serve c", "serve d"], 3000, 1000],
  ["config", (turn) => `&mode=${turn % 4 ? "shared" : "exclusive"}`, ["read", "reload", "write"], 2500, 600],
  ["backup", plain, ["nightly", "by hand"], 5000, 2000],
  ["deploy/api", plain, ["deploy 118", "deploy 119"], 4000, 2000],
  ...["migrate/orders", "deploy/web", "nightly-report", "cache-warm", "rotate-logs"].map((name) => [name, plain, ["cron"], 6000, 5000]),
];

try {
  for (const [name, slots] of [["gpu", 3], ["license/solver", 5]]) await stage.ask("PUT", `/v1/definitions/${encodeURIComponent(name)}?kind=semaphore&slots=${slots}`);
  const clients = CLIENTS.flatMap(([name, query, labels, hold, rest]) => labels.map((label) => client(name, query, label, hold, rest)));
  // Letters without coloured edges need fewer colours.
  await stage.browse(["--disable-lcd-text"]);
  const pages = [
    ["ui-overview.png", await stage.page("/ui/")],
    ["ui-name.png", await stage.page("/ui/name/gpu")],
    ["ui-phone-dark.png", await stage.page("/ui/", { width: 390, height: 844, dark: true })],
  ];
  // Long enough for charts and hand-offs.
  for (const [, page] of pages) await page.bringToFront();
  await pause(100_000);
  for (const [file, page] of pages) {
    await page.bringToFront();
    await until("the page is live", async () => (await page.locator(".talks").innerText()).includes("live"));
    await pause(3000);
    await fs.writeFile(path.join(folder, file), squeezed(await page.screenshot()));
  }
  ends = true;
  await stage.end();
  await Promise.allSettled(clients);
} finally {
  ends = true;
  await stage.end();
}
