// Recordings: a run of the swarm that fails, opened by the program and by a file; a real cluster; many events.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

import { cluster, empty, huge, request, swarm, written } from "./recordings.mjs";
import { LONG, Stage, inaccessible, until } from "./stage.mjs";

const PROGRAM = process.env.TOKENWOOD_PROGRAM;

let stage;
let page;
let folder;
let server;

const slider = () => page.getByRole("slider", { name: "Event" });
const said = () => slider().getAttribute("aria-valuetext");
const sentence = () => page.locator(".rec-sentence").innerText();
const fine = async () => {
  assert.deepEqual(page.wrongs, []);
  assert.deepEqual(await inaccessible(page), []);
};

const record = (name, ...flags) => swarm(folder, name, ...flags);

async function openFile(file, options) {
  await page?.close();
  page = await stage.page("/ui/open", options);
  await page.setInputFiles("#file", file);
  await slider().waitFor();
}

before(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-recorded-"));
  const file = await record("failed.jsonl", "--defect", "no-margin");
  server = spawn(PROGRAM, ["trace", file, "--open", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, DISPLAY: "", WAYLAND_DISPLAY: "", BROWSER: "true" } });
  let said = "";
  server.stdout.on("data", (part) => (said += part));
  stage = await Stage.play();
  stage.door = (await until("the recording is served", () => /http:\/\/[\d.]+:\d+(?=\/ui\/recording)/.exec(said)))[0];
  await stage.browse();
}, { timeout: LONG });

after(async () => {
  await stage?.end();
  if (server && server.exitCode === null) {
    server.kill();
    await once(server, "exit");
  }
  await fs.rm(folder, { recursive: true, force: true });
}, { timeout: LONG });

test("a failure of the swarm is shown where it happens, and can be stepped", { timeout: LONG }, async () => {
  page = await stage.page("/ui/recording");
  await slider().waitFor();
  await page.getByRole("heading", { name: /^Swarm, seed \d+, with the defect no-margin$/ }).waitFor();
  assert.match(await sentence(), /Violation: a client gets name 0 /);
  await page.locator(".pill", { hasText: "violation" }).waitFor();
  assert.ok((await page.locator(".rec.wrong-edge").count()) > 0, "there is a band");
  await fine();

  const last = Number(await slider().getAttribute("aria-valuemax"));
  assert.equal(Number(await slider().getAttribute("aria-valuenow")), last);
  await slider().press("ArrowLeft");
  assert.match(await said(), new RegExp(`^event ${last - 1} of ${last}, `));
  await slider().press("Home");
  assert.match(await said(), /^event 1 of \d+, 0\.001 seconds: View 1 begins, with nodes 0, 1$/);
  await page.getByRole("button", { name: "Next", exact: true }).click();
  assert.match(await sentence(), /Node 0 leads from now on/);
  await page.keyboard.press("ArrowRight");
  assert.match(await sentence(), /Node 0 enters view 1/);
  await page.getByRole("button", { name: "Previous", exact: true }).click();
  assert.match(await sentence(), /Node 0 leads from now on/);
  await page.getByRole("button", { name: "Show the finding" }).click();
  assert.match(await sentence(), /Violation/);
  assert.equal(await page.locator("tr[aria-current]").count(), 1);

  // The pointer scrubs, and a click in a row goes to an event of its node.
  const box = await slider().boundingBox();
  await page.mouse.click(box.x + box.width * 0.5, box.y + box.height / 2);
  const middle = Number(await slider().getAttribute("aria-valuenow"));
  assert.ok(middle > 1 && middle < last, `the middle is event ${middle}`);
  const rows = await page.locator(".rec-sheet").boundingBox();
  await page.mouse.click(rows.x + rows.width * 0.6, rows.y + rows.height * 0.75);
  assert.match(await sentence(), /Node 1/);
  await fine();
});

test("the address keeps the place, and a reload and a link show it", { timeout: LONG }, async () => {
  await page.close();
  page = await stage.page("/ui/recording");
  await slider().waitFor();
  await slider().press("Home");
  for (let step = 0; step < 12; step += 1) await page.keyboard.press("ArrowRight");
  for (const key of ["]", "]", "]"]) await page.keyboard.press(key);
  await page.getByText("Nodes and kinds").click();
  await page.getByRole("checkbox", { name: "1", exact: true }).uncheck();
  await page.getByRole("checkbox", { name: "Waits" }).uncheck();
  await page.keyboard.press("Escape");
  await page.locator("#rec-name").selectOption("name 0");
  const look = async (page) => ({
    said: await page.locator(".rec-sentence").innerText(),
    zoom: await page.locator(".zoomed").innerText(),
    where: await page.getByRole("slider", { name: "Event" }).getAttribute("aria-valuetext"),
    ticks: await page.locator(".rec-axis text").allTextContents(),
    nodes: await page.locator(".rec-names span").allTextContents(),
    name: await page.locator("#rec-name").inputValue(),
    waits: await page.getByRole("checkbox", { name: "Waits", includeHidden: true }).isChecked(),
  });
  await until("the address has it all", () => ["at=", "from=", "span=", "name=name+0", "nodes=0", "kinds=start%2Cgrants"].every((part) => page.url().includes(part)));
  const there = await look(page);
  assert.deepEqual([there.nodes, there.waits], [["0"], false]);
  await page.reload();
  await slider().waitFor();
  assert.deepEqual(await look(page), there);
  const link = await stage.page(page.url().slice(stage.door.length), { width: 1280, height: 800 });
  await link.getByRole("slider", { name: "Event" }).waitFor();
  assert.deepEqual(await look(link), there);
  assert.deepEqual(link.wrongs, []);
  await link.close();
  // Going from event to event is no step back.
  assert.equal(await page.evaluate(() => history.length), 2);
  await fine();
  // An address that does not fit shows what it can.
  await page.goto(`${stage.door}/ui/recording?at=99999&from=x&span=-1&name=none&nodes=7&kinds=none`);
  await slider().waitFor();
  assert.match(await sentence(), /Violation/);
  await fine();
});

test("the picture is exported with its title and words, and T shows it as a table", { timeout: LONG }, async () => {
  await page.close();
  page = await stage.page("/ui/recording");
  await slider().waitFor();
  await page.keyboard.press("X");
  const save = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return { name: download.suggestedFilename(), bytes: await fs.readFile(await download.path()) };
  };
  const svg = await save("Time as SVG");
  assert.match(svg.name, /^swarm-seed-\d+-with-the-defect-no-margin-time\.svg$/);
  const read = await page.evaluate((text) => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    return { title: svg.querySelector("title").textContent, words: svg.querySelector("desc").textContent, paths: svg.querySelectorAll("path").length, loose: svg.querySelectorAll("[class], [style]").length };
  }, svg.bytes.toString());
  assert.match(read.title, /^Swarm, seed \d+, with the defect no-margin: 0\.0 s to [\d.]+ s$/);
  assert.match(read.words, /one row for each node: 0, 1\. \d+ grants, \d+ waits?\. Violation: .* Node 0 leads, from /);
  assert.ok(read.paths > 5, `${read.paths} paths`);
  assert.equal(read.loose, 0, "nothing outside decides how it looks");
  const png = await save("Time as PNG");
  assert.deepEqual([...png.bytes.subarray(1, 4)], [..."PNG"].map((it) => it.charCodeAt(0)));
  assert.ok(png.bytes.length > 10_000, `${png.bytes.length} bytes`);
  await fine();
  await page.keyboard.press("Escape");

  await page.keyboard.press("T");
  const table = page.getByRole("region", { name: "Time, as a table" });
  await table.getByRole("cell", { name: "leads", exact: true }).first().waitFor();
  assert.ok((await table.getByRole("cell", { name: /^slot 0 is held, fence \d+:\d+$/ }).count()) > 0);
  const all = await table.getByRole("row").count();
  await fine();
  // The table is that of the window.
  await slider().press("Home");
  for (const key of ["]", "]", "]"]) await page.keyboard.press(key);
  await until("fewer rows", async () => (await table.getByRole("row").count()) < all);
  await page.keyboard.press("T");
  assert.equal(await table.isVisible(), false);
  await page.keyboard.press("P");
  assert.equal(await page.locator("#top").isVisible(), false);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#top").isVisible(), true);
  await fine();
});

test("all of it can be done with keys", { timeout: LONG }, async () => {
  const reached = new Set();
  await page.locator("#main").focus();
  for (let step = 0; step < 22; step += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent));
  }
  for (const name of ["Nodes and kinds", "More time", "Less time", "As tables", "Projector", "Export", "Previous", "Next", "Show the finding", "Nodes", "Event", "Events"]) assert.ok(reached.has(name), `${name} is not among ${[...reached].join(", ")}`);
  await slider().press("Home");
  await page.keyboard.press("Shift+ArrowRight");
  assert.match(await sentence(), / holds name 0: slot 0/);
  await page.keyboard.press("F");
  assert.match(await sentence(), /Violation/);
  await page.keyboard.press("Shift+ArrowLeft");
  assert.match(await sentence(), / holds name 0: slot 0/);
});

test("a real cluster: what was held before, a node that is silent, and one that is out of the view", { timeout: 3 * LONG }, async () => {
  await openFile(await cluster(folder, "cluster.jsonl"));
  const events = () => page.locator(".rec-list tbody").innerText();
  assert.match(await events(), /Node 0: early bird holds gpu: slot \d, fence 1:\d+, since before the recording, for /);
  assert.match(await events(), /Node 1: train 8 waits for gpu, since before the recording, for /);
  for (const mark of ["before", "silent", "hush", "out", "maybe"]) assert.equal(await page.locator(`.rec-sheet .rec.${mark}`).count(), 1, mark);
  for (const words of ["since before the recording", "no answer", "out of the view"]) await page.locator(".rec-legend").getByText(words).waitFor();
  assert.equal(await page.getByText("What was held before is not known").count(), 0);
  await slider().press("End");
  for (const words of [/Node 1 is out of view 2/, /Node 1 is a member of view 3, as a new incarnation/, /Node 2 does not answer/, /Node 2 is out of view 4/]) assert.match(await events(), words);
  await fine();
});

test("what is known of a grant is what its nodes and the cluster say", { timeout: LONG }, async () => {
  const view = (time, view, members) => ({ time, node: null, event: "view", view, members });
  const held = (time, node, session, seconds) => request(time, node, "holding", `lock ${session}`, session, 0, { seconds });
  const at = (time, node, event, more = {}) => ({ time, node, event, ...more });
  const listed = (time, node) => at(time, node, "listed", { holders: 1, waiters: 0 });
  const lines = [
    view(0, 1, [0, 1, 2]),
    ...[held(0.1, 0, 1, 60), listed(0.1, 0), held(0.1, 1, 2, 0.05), held(0.1, 1, 3, 60), listed(0.1, 1), held(0.1, 2, 4, 60), listed(0.1, 2)],
    at(1, 0, "no_answer", { why: "test" }),
    at(2, 0, "answers"),
    at(3, 1, "no_answer", { why: "test" }),
    at(4, 1, "answers"),
    ...[held(4.1, 1, 2, 4.05), listed(4.1, 1)],
    at(5, 2, "no_answer", { why: "test" }),
    ...[at(6, 2, "out_of_view", { view: 2 }), view(6, 2, [0, 1])],
    // Late news of what was over change nothing.
    request(7, 2, "released", "lock 4", 4, 0),
    ...[request(7.1, 2, "granted", "lock 5", 5, 0, { fence: 3 * 2 ** 40 + 1 }), at(8, 2, "comes_back", { view: 3, incarnation: 7 }), view(8, 3, [0, 1, 2])],
    request(9, 0, "released", "lock 1", 1, 0),
    at(10, null, "ends"),
  ];
  const file = await written(folder, "known.jsonl", lines);
  const grants = await page.evaluate(async (text) => {
    const { Recording } = await import("/ui/recording/read.js");
    const { grants } = new Recording(text);
    return grants.map(({ name, from, to, before, how, until }) => [name, from, to, !!before, how ?? null, until ?? null]).sort();
  }, await fs.readFile(file, "utf8"));
  assert.deepEqual(grants, [
    // It answered, and told of the release later: it was held throughout.
    ["lock 1", 0, 9, true, "released", null],
    ["lock 2", 0.05, null, false, null, null],
    // The list lacks it: it ended while the node did not answer.
    ["lock 3", 0, 3, true, "no_answer", 4.1],
    ["lock 4", 0, 5, true, "no_answer", 6],
    ["lock 5", 7.1, null, false, null, null],
  ]);
  // Files from before there were lists say that they have none.
  const old = lines.filter((it) => !/holding|listed|out_of_view/.test(it.event));
  await openFile(await written(folder, "old.jsonl", old));
  assert.equal(await page.locator(".rec-sheet .rec.before").count(), 1, "what is released and was never granted was held before");
  await page.getByText("What was held before is not known.").waitFor();
  await fine();
});

test("an empty recording and a huge one are shown", { timeout: 2 * LONG }, async (context) => {
  await openFile(await empty(folder));
  await page.locator(".rec-title").getByText(/20 s, 3 nodes, 1 view, 4 events/).waitFor();
  await fine();
  const file = await huge(folder);
  const begun = Date.now();
  await openFile(file);
  context.diagnostic(`opened in ${Date.now() - begun} ms`);
  assert.ok(Date.now() - begun < 10_000, "it opens soon");
  assert.equal(await slider().getAttribute("aria-valuemax"), "99996");
  await page.getByText(/^Folded: /).waitFor();
  const each = await page.evaluate(async () => {
    const slider = document.querySelector("[role=slider]");
    const begun = performance.now();
    for (let step = 0; step < 20; step += 1) {
      document.dispatchEvent(new KeyboardEvent("keydown", { key: step % 2 ? "[" : "]", bubbles: true }));
      slider.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
    return (performance.now() - begun) / 20;
  });
  for (let zoom = 0; zoom < 8; zoom += 1) await page.keyboard.press("]");
  await page.getByText(/^Folded: /).waitFor({ state: "hidden" });
  context.diagnostic(`${each.toFixed(1)} ms for a zoom and a step`);
  assert.ok(each < 400, `a zoom and a step took ${each} ms`);
  await fine();
});

test("names, nodes and kinds can be left out, and time zooms", { timeout: LONG }, async () => {
  await openFile(await record("run.jsonl", "--seed", "9"));
  assert.equal(await page.locator(".rec.before").count(), 0, "nothing is held before the first moment");
  const all = Number(await slider().getAttribute("aria-valuemax"));
  await page.locator("#rec-name").selectOption("name 1");
  const named = Number(await slider().getAttribute("aria-valuemax"));
  assert.ok(named < all, `${named} of ${all}`);
  assert.ok((await page.locator(".rec.grant.t0").count()) > 0, "slots have colours");
  await page.getByText("Nodes and kinds").click();
  await page.getByRole("checkbox", { name: "2", exact: true }).uncheck();
  await page.getByRole("checkbox", { name: "Waits" }).uncheck();
  assert.ok(Number(await slider().getAttribute("aria-valuemax")) < named);
  assert.deepEqual(await page.locator(".rec-names span").allTextContents(), ["0", "1", "3", "4"]);
  await fine();
  await page.keyboard.press("Escape");
  await slider().focus();
  for (const key of ["]", "]"]) await page.keyboard.press(key);
  await until("zoomed in", async () => /^\d+(\.\d)? s$/.test(await page.locator(".zoomed").innerText()));
  await slider().press("End");
  assert.equal(await page.locator(".playhead:visible").count(), 1, "the window follows the cursor");
  for (const key of ["[", "["]) await page.keyboard.press(key);
  await until("zoomed out", async () => (await page.locator(".zoomed").innerText()) === "all");
  await fine();
});

test("many events are drawn on canvas", { timeout: LONG }, async (context) => {
  await openFile(await huge(folder, 20_000), { dark: true });
  assert.equal(await page.locator(".rec-rows").getAttribute("data-drawn"), "canvas");
  const painted = () => page.evaluate(() => {
    const canvas = document.querySelector(".rec-sheet canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) colours.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    return colours.size;
  });
  assert.ok((await painted()) > 5);
  const each = await page.evaluate(async () => {
    const slider = document.querySelector("[role=slider]");
    const begun = performance.now();
    for (let step = 0; step < 40; step += 1) {
      slider.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
    return (performance.now() - begun) / 40;
  });
  context.diagnostic(`${each.toFixed(1)} ms a step`);
  assert.ok(each < 250, `a step took ${each} ms`);
  await fine();
});

test("what is no recording, or is cut off, is said", { timeout: LONG }, async () => {
  const file = await record("cut.jsonl", "--seed", "11");
  const text = await fs.readFile(file, "utf8");
  await fs.writeFile(file, text.slice(0, text.length * 0.7));
  await openFile(file, { width: 390, height: 844 });
  await page.getByText("The recording was cut off.").waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await fine();
  await page.close();
  page = await stage.page("/ui/open");
  await fs.writeFile(file, text.replace("tokenwood.recording/1", "tokenwood.recording/9"));
  await page.setInputFiles("#file", file);
  await page.getByRole("alert").getByText(/The file is tokenwood\.recording\/9/).waitFor();
  for (const [line, why] of [["{}", /Line 2 is no event/], ['{"time":1,"node":null,"event":"view"}', /Line 2 is no event/], ["{", /Line 2 is not JSON/]]) {
    await fs.writeFile(file, `${text.split("\n")[0]}\n${line}\n`);
    await page.setInputFiles("#file", file);
    await page.getByRole("alert").getByText(why).waitFor();
  }
  assert.deepEqual(page.wrongs, []);
});
