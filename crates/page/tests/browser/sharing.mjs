// What a reader does with a run: scrub, zoom, find, branch, share, export, and open it from a file without a server.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { LONG, Stage, inaccessible, until } from "./stage.mjs";

const RUN = ["req0", "req1", "req2/1", "2>1", "exit1", "1>2", "req1/0", "1>0", "exit0", "0>1", "req0/1", "0>1"];

let stage;
let page;
let folder;

const slider = () => page.locator(".scrubber:visible");
const said = () => slider().getAttribute("aria-valuetext");
const is = (words) => until(words, async () => (await said()) === words);
const fine = async () => {
  assert.deepEqual(page.wrongs, []);
  assert.deepEqual(await inaccessible(page), []);
};

async function open(where, options) {
  await page?.close();
  page = await stage.page(where, options);
}

async function ask(path, body) {
  const response = await fetch(`${stage.door}/player/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response.json();
}

/** Opens a setting, and waits until it is there: keys before that do nothing. */
async function begin(where) {
  await open(where);
  await until("the run is there", async () => (await slider().count()) && (await said()));
}

/** Opens a run by its link. */
async function play(setting, steps, at, options) {
  const { run } = await ask("share", { ...setting, steps });
  await open(`/ui/play/${setting.algorithm}?at=${at}#r=${run}`, options);
  await slider().waitFor();
  await until("the run is there", async () => (await said())?.startsWith(`step ${at} of ${steps.length}`));
}

/** Saves what a button gives, and reads it. */
async function saved(button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const where = path.join(folder, download.suggestedFilename());
  await download.saveAs(where);
  return { where, bytes: await fs.readFile(where) };
}

before(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-shared-"));
  stage = await Stage.play();
  await stage.browse();
}, { timeout: LONG });

after(async () => {
  await stage?.end();
  await fs.rm(folder, { recursive: true, force: true });
}, { timeout: LONG });

test("a link gives the same run", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 9);
  await is("step 9 of 12: exit0");
  await page.keyboard.press("s");
  const dialog = page.getByRole("dialog");
  const link = dialog.getByRole("textbox", { name: "Link" });
  await link.waitFor();
  await fine();
  const href = await link.inputValue();
  assert.match(await dialog.getByRole("textbox", { name: "Frame" }).inputValue(), /^<iframe src="http.*embed=1#r=.*"><\/iframe>$/);
  const trace = JSON.parse((await saved(dialog.getByRole("button", { name: "Save trace" }))).bytes);
  assert.ok(JSON.stringify(trace).includes("bulgannawar-vaidya"));
  await open(href.slice(stage.door.length));
  await slider().waitFor();
  await is("step 9 of 12: exit0");
  await slider().press("End");
  await is("step 12 of 12: 0>1");
  const again = await fetch(`${stage.door}/player/open`, { method: "POST", body: new URL(href).hash.slice(3) });
  assert.deepEqual((await again.json()).steps, RUN);
  await fine();
});

test("the scrubber obeys keys and the pointer, and time zooms", { timeout: LONG }, async () => {
  const { steps } = await ask("autorun", { algorithm: "bulgannawar-vaidya", nodes: 6, tokens: 2, seed: 7, count: 61 });
  await play({ algorithm: "bulgannawar-vaidya", nodes: 6, tokens: 2, seed: 7 }, steps, 48);
  await is(`step 48 of 61: ${steps[47]}`);
  await slider().focus();
  for (const [key, at] of [["ArrowRight", 49], ["ArrowLeft", 48], ["Home", 0], ["PageDown", 10], ["End", 61], ["PageUp", 51]]) {
    await page.keyboard.press(key);
    await is(`step ${at} of 61${at ? `: ${steps[at - 1]}` : ""}`);
  }
  const box = await slider().boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const dragged = Number(await slider().getAttribute("aria-valuenow"));
  assert.ok(dragged > 20 && dragged < 50, `dragged to ${dragged}`);

  // Zooming out shows all steps; leaving out nodes leaves out their rows.
  await page.keyboard.press("[");
  await page.getByText("all 61 steps").waitFor();
  await page.keyboard.press("]");
  await page.getByText("50 steps", { exact: true }).waitFor();
  await page.getByText("all nodes, all kinds").click();
  await page.getByRole("checkbox", { name: "3", exact: true }).uncheck();
  await page.getByText("5 of 6 nodes, all kinds").waitFor();
  assert.equal(await page.locator(".time-names button").count(), 5);
  await page.keyboard.press("Escape");
  await slider().focus();
  await page.keyboard.press("t");
  await page.getByRole("dialog").getByRole("heading", { name: /^Messages \d+/ }).waitFor();
  await fine();
  await page.keyboard.press("Escape");

  // A message in flight is a dot on the playhead, and a click delivers it. The old future becomes a branch.
  const { states } = await ask("play", { algorithm: "bulgannawar-vaidya", nodes: 6, tokens: 2, seed: 7, steps, want: [[0, 61]] });
  const flying = states.find((state) => state.at < 60 && state.can.some((it) => it.kind === "deliver" && it.step !== steps[state.at] && it.node !== 3));
  const act = flying.can.find((it) => it.kind === "deliver" && it.step !== steps[flying.at] && it.node !== 3);
  const message = flying.flight.find((it) => it.id === act.message);
  await page.getByText("5 of 6 nodes, all kinds").click();
  await page.getByRole("checkbox", { name: "3", exact: true }).check();
  await page.keyboard.press("Escape");
  await slider().focus();
  await page.keyboard.press("Home");
  for (let at = 0; at < flying.at; at += 1) await page.keyboard.press("ArrowRight");
  await is(`step ${flying.at} of 61${flying.at ? `: ${steps[flying.at - 1]}` : ""}`);
  await page.getByRole("group", { name: "Messages in flight" }).getByRole("button", { name: `Deliver ${message.kind} from ${message.from} to ${message.to}` }).first().press("Enter");
  await is(`step ${flying.at + 1} of ${flying.at + 1}: ${act.step}`);
  await page.keyboard.press("b");
  await page.getByRole("button", { name: /^Take up: / }).first().click();
  await until("the old future is back", async () => / of 61/.test(await said()));
  await fine();
});

test("the shortest way to a violation is found, and a search can be stopped", { timeout: LONG }, async () => {
  await begin("/ui/play/bulgannawar-vaidya?n=4&k=1&defect=holding-not-set");
  await page.keyboard.press("f");
  await fine();
  await page.getByRole("dialog").getByRole("button", { name: "Find", exact: true }).click();
  await is("step 0 of 4");
  for (let at = 1; at <= 4; at += 1) await slider().press("ArrowRight");
  await until("step 4", async () => (await said()).startsWith("step 4 of 4"));
  await page.locator(".band .pill").waitFor();
  assert.equal(await page.locator(".band .pill").textContent(), "both inside");
  await fine();

  await begin("/ui/play/bulgannawar-vaidya?n=6&k=2");
  await page.keyboard.press("f");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Find", exact: true }).click();
  await until("the search tells how far it is", async () => Number((await dialog.locator(".finding dd").first().innerText()).replaceAll(",", "")) > 1000);
  await dialog.getByRole("button", { name: "Stop" }).click();
  await dialog.getByText(/^Stopped\. [\d,]+ states explored/).waitFor();
  await fine();
  // What cannot be is said in plain words.
  await begin("/ui/play/naimi-trehel?n=2");
  await page.keyboard.press("f");
  await page.getByRole("dialog").getByRole("button", { name: "Find", exact: true }).click();
  await page.getByText(/There is no way: all that can happen was tried/).waitFor();
});

test("both views become pictures that stand alone", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 9);
  await page.locator("svg.graph").waitFor();
  await page.keyboard.press("x");
  const dialog = page.getByRole("dialog");
  await fine();
  for (const name of ["Graph", "Time"]) {
    const svg = (await saved(dialog.getByRole("button", { name: `${name} as SVG` }))).bytes.toString();
    assert.match(svg, /<title id="title">bulgannawar-vaidya, 3 nodes, 2 tokens: step 9 of 12<\/title><desc id="words">[^<]{40,}<\/desc>/);
    assert.ok(!/var\(|light-dark|class=/.test(svg), "no style of the page is needed");
    const read = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return { wrong: Boolean(parsed.querySelector("parsererror")), marks: parsed.querySelectorAll("path, circle").length };
    }, svg);
    assert.ok(!read.wrong && read.marks > 5, `${name}: ${JSON.stringify(read)}`);
    const { bytes } = await saved(dialog.getByRole("button", { name: `${name} as PNG` }));
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    assert.ok(bytes.length > 5000, `${name}: ${bytes.length} bytes`);
  }
});

test("a file shows the run without a server", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 9);
  await page.keyboard.press("s");
  const { where, bytes } = await saved(page.getByRole("button", { name: "Save page" }));
  assert.ok(bytes.length > 10_000);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  page.wrongs = [];
  await page.goto(pathToFileURL(where).href);
  await slider().waitFor();
  await is("step 9 of 12: exit0");
  await page.keyboard.press("ArrowRight");
  await is("step 10 of 12: 0>1");
  await page.locator("svg.graph").waitFor();
  await page.getByText("REQUEST").first().waitFor();
  assert.deepEqual(asked.filter((url) => !/^(file|data|blob):/.test(url)), [], "nothing is asked for");
  page.wrongs = page.wrongs.filter((wrong) => !/^request: (file|blob):/.test(wrong));
  await fine();
});

test("ten thousand steps are scrubbed", { timeout: 3 * LONG }, async (context) => {
  for (const [length, drawn] of [[2000, "svg"], [10_000, "bins"]]) {
    const setting = { algorithm: "bulgannawar-vaidya", nodes: 6, tokens: 2, seed: 7 };
    let steps = [];
    while (steps.length < length) ({ steps } = await ask("autorun", { ...setting, steps, count: Math.min(500, length - steps.length) }));
    await play(setting, steps, 5);
    await slider().press("End");
    await until("the end", async () => (await said()).startsWith(`step ${length} of`), 2 * LONG);
    for (let zooms = 0; zooms < 9; zooms += 1) await page.keyboard.press("[");
    await page.getByText(`all ${length.toLocaleString("en")} steps`).waitFor();
    if (drawn === "bins") await until("folded", async () => (await page.locator(".run-time").getAttribute("data-drawn")) === "bins", 2 * LONG);
    const box = await slider().boundingBox();
    const frame = await slider().evaluate(async (element, { x, y, wide }) => {
      const fire = (type, at) => element.dispatchEvent(new PointerEvent(type, { pointerId: 1, button: 0, clientX: at, clientY: y, bubbles: true, cancelable: true }));
      element.setPointerCapture = () => {};
      fire("pointerdown", x + 60);
      const begun = performance.now();
      for (let step = 0; step < 60; step += 1) {
        fire("pointermove", x + 60 + (step / 60) * (wide - 120));
        await new Promise(requestAnimationFrame);
      }
      const each = (performance.now() - begun) / 60;
      fire("lostpointercapture", x + wide - 60);
      return each;
    }, { x: box.x, y: box.y + 5, wide: box.width });
    context.diagnostic(`${length} steps: ${frame.toFixed(1)} ms a frame`);
    assert.ok(frame < 250, `a frame took ${frame} ms`);
    assert.deepEqual(page.wrongs, []);
  }
});

test("time fits a phone", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 9, { width: 390, height: 844, dark: true });
  assert.equal(await slider().count(), 1, "one scrubber is in sight");
  await slider().press("ArrowLeft");
  await is("step 8 of 12: 1>0");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await fine();
});
