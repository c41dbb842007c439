// Recordings: a run of the swarm that fails, opened by the program and by a file; a real cluster; many events.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { LONG, Stage, inaccessible, until } from "./stage.mjs";

const PROGRAM = process.env.TOKENWOOD_PROGRAM;
const run = promisify(execFile);

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

/** Records a run of the swarm. One that fails ends with another code. */
async function record(name, ...flags) {
  const file = path.join(folder, name);
  await run(PROGRAM, ["swarm", ...flags, "--record", file]).catch((failed) => assert.equal(failed.code, 1, failed.stderr));
  return file;
}

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

test("names, nodes and kinds can be left out, and time zooms", { timeout: LONG }, async () => {
  await openFile(await record("run.jsonl", "--seed", "9"));
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
  await openFile(await record("long.jsonl", "--seed", "4"), { dark: true });
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
  assert.deepEqual(page.wrongs, []);
});
