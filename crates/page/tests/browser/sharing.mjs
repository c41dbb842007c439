// What a reader does with a run: scrub, zoom, find, branch, share, export, and open it from a file without a server.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { LONG, Stage, sound, until } from "./stage.mjs";

const RUN = ["req0", "req1", "req2/1", "2>1", "exit1", "1>2", "req1/0", "1>0", "exit0", "0>1", "req0/1", "0>1"];

let stage;
let page;
let folder;

const slider = () => page.locator(".scrubber:visible");
const said = () => slider().getAttribute("aria-valuetext");
const is = (words) => until(words, async () => (await said()) === words);
const fine = () => sound(page);

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
  await dialog.getByText("This address works on this machine only.").waitFor();
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
  await page.locator(".player-head h1").waitFor();
  assert.match(await page.locator(".player-head").innerText(), /bulgannawar-vaidya\s+\d+ nodes/, "a title and the setting");
  assert.ok((await page.locator(".player-head").boundingBox()).height > 10, "in sight");
  assert.equal(await page.getByRole("button", { name: /^seed/ }).count(), 0, "no advice to act");
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

test("a run comes back with its branches, by Back, by the bar and after a reload", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 4);
  // Another step in the past: the old future becomes a branch. The player is left at once, before its address says so.
  await page.locator(".of-nodes tbody tr").nth(0).getByRole("button", { name: /^Exit/ }).click();
  await is("step 5 of 5: exit0");
  await page.getByRole("link", { name: "Gallery" }).first().click();
  await page.locator(".exhibits, .gallery").first().waitFor();
  const back = async () => {
    await slider().waitFor();
    await is("step 5 of 5: exit0");
    await page.getByRole("button", { name: "1 branch" }).waitFor();
  };
  await page.goBack();
  await back();
  await page.reload();
  await back();
  await page.getByRole("link", { name: "Compare" }).first().click();
  await page.waitForURL("**/ui/compare**");
  await page.getByRole("link", { name: "Play", exact: true }).first().click();
  await back();
  await page.keyboard.press("b");
  await page.getByRole("button", { name: /^Take up: / }).click();
  await is(`step 4 of 12: ${RUN[3]}`);
  // A link is what it says: no run of before takes its place.
  await page.goto(`${stage.door}/ui/play/naimi-trehel?n=3`);
  await page.getByText("This is the start.").waitFor();
  await is("step 0 of 0");
  // What is kept is bounded: the oldest branches go first.
  const kept = await page.evaluate(async () => {
    const { keep, kept } = await import("/ui/play/kept.js");
    const branch = (number) => ({ at: 0, steps: Array.from({ length: 1000 }, () => "req0"), setting: {}, name: String(number) });
    keep("old", { setting: {}, steps: [], at: 0, branches: [] });
    keep("new", { setting: {}, steps: [], at: 0, branches: Array.from({ length: 100 }, (_, number) => branch(number)) });
    return { old: kept("old"), last: kept(null).id, names: kept("new").branches.map((it) => it.name), size: Object.values(sessionStorage).join("").length };
  });
  assert.equal(kept.last, "new");
  assert.equal(kept.old, null);
  assert.ok(kept.names.length > 5 && kept.names[0] === "0" && kept.names.length < 40, String(kept.names.length));
  assert.ok(kept.size <= 210_000, String(kept.size));
  await fine();
});

test("a page of another origin shows a run in a frame, and nothing but the run", { timeout: LONG }, async () => {
  const { run } = await ask("share", { algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 1, defect: "holding-not-set", seed: 7, steps: ["req0", "req1", "1>0", "0>1"] });
  const address = (more) => `${stage.door}/ui/play/bulgannawar-vaidya?at=1${more}#r=${run}`;
  const server = http.createServer((request, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end(`<!doctype html><title>Another site</title><iframe name="shown" width="960" height="720" src="${address("&amp;embed=1")}"></iframe><iframe name="narrow" width="390" height="700" src="${address("&amp;embed=1")}"></iframe><iframe name="refused" src="${address("")}"></iframe>`);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    await open("/ui/icon.svg");
    await page.setViewportSize({ width: 1500, height: 1000 });
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    for (const name of ["shown", "narrow"]) {
      const frame = page.frame({ name });
      const at = (step) => until(`${name} shows step ${step}`, async () => (await frame.locator(".scrubber:visible").getAttribute("aria-valuetext").catch(() => ""))?.startsWith(`step ${step} of 4`));
      await at(1);
      await frame.getByRole("button", { name: "Step", exact: true }).click();
      await at(2);
      for (let turn = 0; turn < 2; turn += 1) await frame.getByRole("button", { name: "Step", exact: true }).click();
      await at(4);
      await frame.locator(".of-properties.violated").waitFor({ state: "attached" });
      // No bars, no settings, and no way to another view: it could not be shown in the frame.
      for (const gone of ["#top", "#tabs", ".settings", "a[href]:not(.skip)", "button[aria-label=Setting]"]) assert.equal(await frame.locator(gone).locator("visible=true").count(), 0, `${name}: ${gone}`);
      for (const key of ["f", "s", "x", "/"]) await frame.locator(".sentence-text").press(key).catch(() => {});
      assert.equal(await frame.locator("dialog, .menu:popover-open").count(), 0, `${name}: keys open nothing`);
      assert.ok(await frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: nothing is cut off`);
      await until("the address stays one that may be framed", () => /embed=1/.test(frame.url()) && /at=4/.test(frame.url()));
    }
    assert.equal(await page.frame({ name: "refused" }).locator(".player").count(), 0, "without embed=1 no other site may show it");
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test("time fits a phone", { timeout: LONG }, async () => {
  await play({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 2, seed: 7 }, RUN, 9, { width: 390, height: 844, dark: true });
  assert.equal(await slider().count(), 1, "one scrubber is in sight");
  await slider().press("ArrowLeft");
  await is("step 8 of 12: 1>0");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await fine();
  // Zoom, filter and table are there, and large enough for a finger.
  for (const [name, shown] of [["Fewer steps", "10 steps"], ["Fewer steps", "5 steps"], ["More steps", "10 steps"]]) {
    await page.getByRole("button", { name }).click();
    await page.getByText(shown, { exact: true }).waitFor();
  }
  const menu = page.getByText("all nodes, all kinds");
  await menu.click();
  await page.getByRole("checkbox", { name: "1", exact: true }).uncheck();
  assert.equal(await page.locator(".time-names button").count(), 2);
  const low = await page.locator(".time-controls").locator("button, summary, label").evaluateAll((all) => all.filter((it) => it.checkVisibility()).map((it) => [it.textContent, it.getBoundingClientRect().height]).filter(([, tall]) => tall < 44));
  assert.deepEqual(low, []);
  await fine();
  await page.getByRole("button", { name: "As a table" }).click();
  await page.getByRole("dialog").getByRole("heading", { name: /^Messages \d+/ }).waitFor();
  await fine();
  await page.keyboard.press("Escape");
  // Two fingers zoom.
  await page.locator(".time-rows").evaluate((rows) => {
    const { left, top } = rows.getBoundingClientRect();
    const fire = (type, pointerId, x) => rows.dispatchEvent(new PointerEvent(type, { pointerId, button: 0, clientX: left + x, clientY: top + 40, bubbles: true }));
    rows.setPointerCapture = () => {};
    fire("pointerdown", 1, 100);
    fire("pointerdown", 2, 160);
    fire("pointermove", 2, 300);
    fire("pointerup", 1, 100);
    fire("pointerup", 2, 300);
  });
  await page.getByText("5 steps", { exact: true }).waitFor();
  await is("step 8 of 12: 1>0");
});

test("faults are plain in time, and many marks look as few do", { timeout: 2 * LONG }, async () => {
  const setting = { algorithm: "drs-gme", nodes: 4, groups: 2, seed: 3 };
  let steps = [];
  for (const kind of ["lose", "duplicate", "crash", "restart"]) {
    ({ steps } = await ask("autorun", { ...setting, steps, count: 6 }));
    const { states } = await ask("play", { ...setting, steps, want: [steps.length] });
    steps.push(states[0].can.find((it) => it.kind === kind).step);
  }
  ({ steps } = await ask("autorun", { ...setting, steps, count: 6 }));
  await play(setting, steps, steps.length);
  const at = (word) => steps.findIndex((step) => step.startsWith(word)) + 1;
  const titles = await page.locator(".fault title").evaluateAll((all) => all.map((it) => it.textContent));
  for (const said of [new RegExp(`is lost in step ${at("lose")}$`), new RegExp(`is doubled in step ${at("dup")}$`), new RegExp(`^Node \\d crashes in step ${at("crash")} and restarts in step ${at("restart")}$`)]) assert.ok(titles.some((title) => said.test(title)), `${said} in ${titles}`);
  assert.equal(await page.locator(".time-key").innerText(), "crashed\nrestarts\nlost\ndoubled");
  // A copy begins on the line of its message, not at its sender.
  const fork = await page.locator(".fault.copied .fork").first().getAttribute("d");
  const rows = await page.locator(".run-time .rows").getAttribute("d");
  assert.ok(!rows.includes(` ${/^M[\d.]+ ([\d.]+)m/.exec(fork)[1]}H`), "the fork is between rows");
  await fine();

  // On canvas a token has the dash that it has as an element: pixels along its line are not all painted.
  const dashes = await page.evaluate(async () => {
    const { paint } = await import("/ui/draw/paint.js");
    const { s } = await import("/ui/dom.js");
    const probe = document.querySelector(".run-time .time-sheet > svg > svg");
    const had = [...probe.childNodes];
    return ["t0", "t1", "t3"].map((tone) => {
      const canvas = document.createElement("canvas");
      paint(canvas, probe, [s("path", { class: `mark carries ${tone}`, d: "M0 10H200" })], { left: 0, width: 200, tall: 20 });
      probe.replaceChildren(...had);
      const { data } = canvas.getContext("2d").getImageData(0, 10, 200, 1);
      const on = Array.from({ length: 200 }, (_, x) => data[4 * x + 3] > 127);
      return on.filter((it, x) => it !== on[x - 1]).length;
    });
  });
  assert.ok(dashes[0] <= 2 && dashes[1] > 30 && dashes[2] > 30, `edges of dashes: ${dashes}`);
});
