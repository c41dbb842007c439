// A real cluster, real clients and a real browser, for the tests and the pictures of the page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const PROGRAM = process.env.TOKENWOOD_PROGRAM;
const MODULES = process.env.TOKENWOOD_MODULES;
/** A folder whose files are shown instead of those in the program: then a change of the page can be tried without a build. */
const FILES = process.env.TOKENWOOD_FILES;
const require = createRequire(path.join(MODULES, "node_modules", "none.js"));
const { chromium } = require("playwright-core");

/** How to find a test that reads too early: SLOW_TEST waits so many ms before each thing the test does, SLOW_PAGE gives the page so many times less CPU. */
const [SLOW_TEST, SLOW_PAGE] = [Number(process.env.TOKENWOOD_SLOW_TEST ?? 0), Number(process.env.TOKENWOOD_SLOW_PAGE ?? 1)];
/** Nothing of a test takes longer than this, also on a busy machine. */
export const LONG = 40_000 * Math.max(1, SLOW_TEST / 10, SLOW_PAGE);

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Waits until something is true. */
export async function until(what, isSo, limit = LONG) {
  const end = Date.now() + limit;
  for (;;) {
    const answer = await isSo();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`not within ${limit / 1000} s: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Starts and ends everything. */
export class Stage {
  #children = new Set();
  #folder;

  static async begin({ nodes = 3, arguments: more = [] } = {}) {
    const stage = new Stage();
    stage.#folder = await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-page-"));
    const ready = path.join(stage.#folder, "ready.json");
    stage.dev = stage.start(["dev", "--nodes", String(nodes), "--ready-file", ready, ...more]);
    const text = await until("the cluster is ready", () => fs.readFile(ready, "utf8").catch(() => null));
    Object.assign(stage, JSON.parse(text));
    stage.door = `http${stage.ca ? "s" : ""}://${stage.nodes[0].http}`;
    stage.endpoints = stage.nodes.map((node) => node.endpoint).join(",");
    return stage;
  }

  /** A player without a cluster. `TOKENWOOD_DOOR` names one that runs already. */
  static async play(more = []) {
    const stage = new Stage();
    stage.#folder = await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-play-"));
    stage.door = process.env.TOKENWOOD_DOOR;
    if (stage.door) return stage;
    const server = spawn(PROGRAM, ["play", "--no-open", "--listen", "127.0.0.1:0", ...more], { stdio: ["ignore", "pipe", "inherit"] });
    stage.#children.add(server);
    server.once("exit", () => stage.#children.delete(server));
    let said = "";
    server.stdout.on("data", (part) => (said += part));
    stage.door = (await until("the player is there", () => /http:\/\/[\d.]+:\d+/.exec(said)))[0];
    return stage;
  }

  /** Starts the program with these arguments. */
  start(args, endpoint) {
    const child = spawn(PROGRAM, args, { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, TOKENWOOD_ENDPOINTS: endpoint ?? this.endpoints ?? "" } });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Holds a name, from a node, for as long as the child lives. */
  hold(node, name, args = [], label = "") {
    return this.start(["run", name, ...args, ...(label ? ["--label", label] : []), "--", "sleep", "600"], this.nodes[node].endpoint);
  }

  /** What the program prints with these arguments. */
  async says(args, env = {}) {
    const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, TOKENWOOD_ENDPOINTS: this.endpoints, ...env } });
    let text = "";
    child.stdout.on("data", (part) => (text += part));
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`tokenwood ${args[0]}: exit code ${code}`);
    return text;
  }

  async ask(method, where, node = 0) {
    const response = await fetch(`http://${this.nodes[node].http}${where}`, { method });
    if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Ends a child, by its id, and waits for that. */
  async kill(child, signal = "SIGTERM") {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async browse(flags = [], more = {}) {
    this.context = await chromium.launchPersistentContext(await fs.mkdtemp(path.join(this.#folder, "browser-")), {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [...FLAGS, ...flags],
      viewport: { width: 1280, height: 800 },
      timeout: LONG,
      slowMo: SLOW_TEST,
      ...more,
    });
    this.context.setDefaultTimeout(LONG);
    if (FILES) await this.context.route((url) => /^\/ui(\/|$)/.test(url.pathname), (route) => this.#fromFolder(route));
    return this.context;
  }

  /** Answers with a file of the folder, with the headers of the program. An address of a view is the first page. */
  async #fromFolder(route) {
    this.headers ??= (await route.fetch({ url: `${this.door}/ui/` })).headers();
    const types = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
    const asked = path.join(FILES, path.normalize(new URL(route.request().url()).pathname.slice(3)));
    const type = types[path.extname(asked)];
    const body = await fs.readFile(type ? asked : path.join(FILES, "index.html")).catch(() => null);
    const headers = { "content-security-policy": this.headers["content-security-policy"], "content-type": `${type ?? "text/html"}; charset=utf-8` };
    await route.fulfill(body ? { body, headers } : { status: 404 });
  }

  /** A page that notes what goes wrong: errors of the console, and requests to another place than its node. */
  async page(where, { width = 1280, height = 800, dark = false } = {}) {
    const page = await this.context.newPage();
    if (SLOW_PAGE > 1) await (await this.context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: SLOW_PAGE });
    page.wrongs = [];
    page.on("console", (message) => message.type() === "error" && page.wrongs.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => page.wrongs.push(`error: ${error.stack}`));
    page.on("request", (request) => request.url().startsWith(this.door) || request.url().startsWith("data:") || page.wrongs.push(`request: ${request.url()}`));
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    await page.goto(`${this.door}${where}`, { waitUntil: "load" });
    return page;
  }

  async end() {
    await this.context?.close();
    await Promise.all([...this.#children].map((child) => this.kill(child)));
    await fs.rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What the rules of accessibility say of a page, in lines. */
export async function inaccessible(page) {
  await page.evaluate(await fs.readFile(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.target.join(" ")).join("; ")}`);
}

/** Nothing went wrong on a page, and all can use it. */
export async function sound(page) {
  assert.deepEqual(page.wrongs, []);
  assert.deepEqual(await inaccessible(page), []);
}
