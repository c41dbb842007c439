// The pictures of the documentation: a lively cluster of five nodes, as the page shows it.

import fs from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";

import { Stage, until } from "./stage.mjs";

const folder = process.argv[2];
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

/** The same picture in fewer bytes: without transparency, with 256 colours, packed as well as possible. */
function squeezed(png) {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = zlib.inflateSync(Buffer.concat(parts));
  const wide = width * channels;
  const paeth = (a, b, c) => [a, b, c].reduce((best, it) => (Math.abs(a + b - c - it) < Math.abs(a + b - c - best) ? it : best));
  // What the filters of the browser left, undone.
  for (let y = 0; y < height; y += 1) {
    const [line, above] = [y * (wide + 1) + 1, (y - 1) * (wide + 1) + 1];
    for (let x = 0; x < wide; x += 1) {
      const left = x >= channels ? raw[line + x - channels] : 0;
      const up = y ? raw[above + x] : 0;
      const corner = y && x >= channels ? raw[above + x - channels] : 0;
      raw[line + x] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][raw[line - 1]];
    }
  }
  // The 256 colours that are used most; others, at the edges of letters, become the nearest of them: a pixel is one byte.
  const at = (x, y) => y * (wide + 1) + 1 + x * channels;
  const colour = (place) => raw.readUIntBE(place, 3);
  const used = new Map();
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) used.set(colour(at(x, y)), (used.get(colour(at(x, y))) ?? 0) + 1);
  const colours = [...used].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([it]) => it);
  const far = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  const nearest = new Map([...used.keys()].map((it) => [it, colours.reduce((best, other, index) => (far(it, other) < far(it, colours[best]) ? index : best), 0)]));
  const pixels = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) pixels[y * (width + 1) + 1 + x] = nearest.get(colour(at(x, y)));
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.from(png.subarray(16, 29));
  [head[8], head[9]] = [8, 3];
  const palette = Buffer.from(colours.flatMap((key) => [key >> 16, (key >> 8) & 255, key & 255]));
  return Buffer.concat([png.subarray(0, 8), chunk("IHDR", head), chunk("PLTE", palette), chunk("IDAT", zlib.deflateSync(pixels, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
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
