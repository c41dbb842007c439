// The gallery, side by side, and opening files, in a real browser with a real player behind it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { LONG, Stage, sound, until } from "./stage.mjs";

let stage;
let page;

const text = (selector) => page.locator(selector).first().innerText();
const fine = () => sound(page);
const whole = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.getElementById("main").scrollWidth <= innerWidth);

async function open(where, options) {
  await page?.close();
  page = await stage.page(where, options);
}

async function ask(path, body) {
  const response = await fetch(`${stage.door}${path}`, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response;
}

before(async () => {
  stage = await Stage.play();
  await stage.browse();
}, { timeout: LONG });

after(() => stage?.end(), { timeout: LONG });

test("the gallery shows every exhibit and every story", { timeout: LONG }, async () => {
  const exhibits = await (await ask("/player/gallery")).json();
  const stories = await (await ask("/player/stories")).json();
  await open("/ui/gallery");
  await page.locator(".card").first().waitFor();
  assert.equal(await page.locator(".card").count(), exhibits.length);
  assert.equal(await page.locator(".card svg.run").count(), exhibits.length, "each with its picture");
  await page.locator(".story a").first().waitFor();
  const links = await page.locator(".story a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  assert.deepEqual(links, stories.map(({ name }) => `/ui/story/${name}`));
  await fine();

  // Filters, in the address as well; a chip says how many it would show.
  await page.getByRole("button", { name: /^001 · / }).click();
  const of001 = exhibits.filter((it) => it.text === "001").length;
  await until("only 001 is left", async () => (await page.locator(".card").count()) === of001);
  assert.match(page.url(), /\?text=001/);
  await page.locator("#leads").selectOption("at-most-k-inside");
  const both = exhibits.filter((it) => it.text === "001" && it.leads === "at-most-k-inside").length;
  await until("both filters hold", async () => (await page.locator(".card").count()) === both);
  assert.equal(await text(".gallery .counted"), `${both} of ${exhibits.length}`);
  await open("/ui/gallery?q=nothing+is+like+this");
  await page.getByText("No error is like that").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await until("all are back", async () => (await page.locator(".card").count()) === exhibits.length);
});

test("an exhibit fails at its last step, and is right without its defect", { timeout: LONG }, async () => {
  await open("/ui/gallery?text=001");
  await page.getByRole("link", { name: "holding-not-set" }).click();
  await page.waitForURL("**/ui/gallery/bulgannawar-vaidya/holding-not-set");
  await page.getByText("2 inside, 1 allowed").first().waitFor();
  await until("the steps are told", async () => (await page.locator(".told li").count()) === 4);
  await page.getByText("By the right rule the run is the same up to step 3").waitFor();
  // The words that fail are struck in their rule, and said to a screen reader as well.
  const struck = await page.locator(".struck").first().textContent();
  assert.ok(struck.startsWith("Rule 1 Enter. With a token:  wrong: enter  right: set holding, enter ."), struck);
  assert.match(await page.locator(".struck del").textContent(), /enter$/);
  await fine();
  await page.getByRole("button", { name: "Watch it fail" }).click();
  await page.waitForURL(/\/ui\/play\/bulgannawar-vaidya\?.*defect=holding-not-set.*at=0#r=/);
  // The run in the address is the one that fails, at its end and not before.
  const run = /#r=(.*)$/.exec(page.url())[1];
  const { steps, ...setting } = await (await fetch(`${stage.door}/player/open`, { method: "POST", body: run })).json();
  const { violated } = await (await ask("/player/play", { ...setting, steps })).json();
  assert.equal(violated.property, "at-most-k-inside");
  assert.equal(violated.at, steps.length);
  await page.getByText(`of ${steps.length}`, { exact: true }).waitFor();
  await page.keyboard.press("End");
  await page.getByText("This violates at-most-k-inside").first().waitFor();
  assert.match(await text(".printed .struck"), /With a token/);
  assert.match(await page.locator(".printed .struck del").textContent(), /enter$/);
  await page.goBack();
  await page.getByRole("button", { name: "See it right" }).click();
  await page.waitForURL(/\/ui\/play\/bulgannawar-vaidya\?.*at=3#r=/);
  assert.ok(!page.url().includes("defect="), "the defect is not there");

  await open("/ui/gallery/bulgannawar-vaidya/no-such-defect");
  await page.getByText("There is no such error").waitFor();
});

test("every story begins with its preface", { timeout: LONG }, async () => {
  const stories = await (await ask("/player/stories")).json();
  for (const { name, preface, captions } of stories) {
    await open(`/ui/story/${name}`);
    await page.locator(".caption-text:not(:empty)").waitFor();
    assert.equal(await text(".caption-text"), preface, name);
    await page.getByRole("button", { name: "Go on" }).click();
    // Pressed again, it is at the end of the part at once.
    await page.getByRole("button", { name: "Go on" }).click();
    await until("the first caption is there", async () => (await text(".caption-text")) === captions[0].text);
  }
});

test("two algorithms run side by side, and count", { timeout: 2 * LONG }, async () => {
  await open("/ui/compare/bulgannawar-vaidya/raymond-k?n=9&k=3&rate=0.2&cs=2&seed=7&at=42");
  await page.locator(".versus").waitFor();
  assert.match(await text(".where-now"), /Entry 42 of 60/);
  const figures = async (side) => (await page.locator(`.side-${side} .counters dd`).allInnerTexts()).map((it) => Number(it.replaceAll(",", "")));
  const [a, b] = [await figures("a"), await figures("b")];
  assert.deepEqual([a[1], b[1]], [42, 42], "in step by entries");
  assert.ok(a[0] > 0 && a[0] < b[0], `tokens need fewer messages than permissions: ${a[0]}, ${b[0]}`);
  assert.ok(b[4] > 0, "clients wait");
  assert.equal(await page.locator(".side-a .scene .small-node").count(), 9);

  // Scrubbing, playing, and keys.
  await page.getByRole("button", { name: "Last entry" }).click();
  assert.match(await text(".where-now"), /Entry 60 of 60/);
  // At the end the mean of the page is the simulator's.
  const mean = (await page.locator(".versus tr").nth(3).locator("td").first().innerText()).trim();
  assert.ok(Math.abs(Number(mean) - (await figures("a"))[4]) < 0.06, "the same mean wait");
  await page.locator("h1").click();
  await page.keyboard.press("Home");
  assert.match(await text(".where-now"), /Entry 1 of 60/);
  await page.keyboard.press("Space");
  await until("it plays", async () => !/Entry 1 of/.test(await text(".where-now")));
  await page.keyboard.press("Space");
  assert.match(page.url(), /at=\d+/);
  await fine();
});

test("the load has entries, groups and clients, and the address as well", { timeout: 2 * LONG }, async () => {
  await open("/ui/compare/drs-gme/rooms?n=4&entries=30&groups=3&clients=2&at=20");
  await page.locator(".versus").waitFor();
  assert.match(await text(".where-now"), /Entry 20 of 30/);
  assert.ok(await page.locator("#load-k").isHidden(), "neither has tokens to choose");
  assert.equal(await page.locator("#load-groups").inputValue(), "3");
  assert.equal(await page.locator("#load-clients").inputValue(), "2");
  await page.getByText("drs-gme has one client a node, and rooms 2: their loads differ.").waitFor();
  const asked = page.waitForRequest((request) => request.url().endsWith("/player/compare"));
  await page.locator("#load-entries").fill("9999");
  await page.locator("#load-entries").press("Enter");
  const { a, b, load } = (await asked).postDataJSON();
  assert.deepEqual([a.groups, a.clients, b.groups, b.clients, load.entries], [3, 1, 3, 2, 500], "at most 500, and clients only where there can be several");
  await until("all entries are there", async () => /of 500/.test(await text(".where-now")));
  await until("the address has it", () => /entries=500/.test(page.url()) && /groups=3/.test(page.url()) && /clients=2/.test(page.url()));
  await fine();
  // What is out of bounds is as if it were left out; what neither algorithm has is not offered.
  await open("/ui/compare/bulgannawar-vaidya/raymond-k?entries=7&groups=99&at=1");
  await page.locator(".versus").waitFor();
  assert.match(await text(".where-now"), /of 60/);
  assert.equal(await page.getByText("their loads differ").count(), 0);
  assert.ok((await page.locator("#load-groups").isHidden()) && (await page.locator("#load-clients").isHidden()));
});

test("curves are the simulator's, and follow the sliders", { timeout: 3 * LONG }, async () => {
  await open("/ui/compare/bulgannawar-vaidya/raymond-k?n=9&k=3&rate=0.2&cs=2&seed=7&at=42");
  const complete = () => until("the curves are complete", async () => /standard error/.test(await text(".progress")), 2 * LONG);
  await complete();
  assert.equal(await page.locator(".chart-panel path.band").count(), 10);
  const body = { algorithm: "raymond-k", nodes: 9, tokens: 3, clients: 1, seed: 7, load: { cs: 2, transit: 0.8, delay: "constant" }, over: "rate", values: [0.1], measures: ["messages_per_entry"], seeds: 5 };
  const [[, mean]] = (await (await ask("/player/curve", body)).json()).curves[0].points;
  await page.keyboard.press("T");
  const cell = page.getByRole("region", { name: "Messages an entry over rate λ, as a table" }).getByRole("row", { name: /^0\.1 / }).getByRole("cell").nth(1);
  assert.ok((await cell.innerText()).startsWith(String(Number(mean.toPrecision(4)))), "exactly the simulator's number");
  await fine();
  await page.keyboard.press("T");
  await page.locator("#load-k").focus();
  await page.keyboard.press("ArrowLeft");
  await until("the address follows", () => /k=2/.test(page.url()));
  await until("the curves follow", async () => /of 22 points/.test(await text(".progress")));
  await complete();
  await page.locator("#over").selectOption("n");
  await complete();
  assert.match(page.url(), /over=n/);
  assert.deepEqual(page.wrongs, []);
  // What cannot be is not asked for: fewer nodes than tokens take tokens away, and more tokens bring nodes.
  await page.locator("#load-k").press("End");
  await page.getByText("n is 10 now: there are no more tokens than nodes.").waitFor();
  await page.locator("#load-n").press("Home");
  await page.getByText("k is 2 now: there are no more tokens than nodes.").waitFor();
  assert.equal(await page.locator('output[for="load-k"]').innerText(), "2");
  await until("the address follows", () => /n=2&k=2/.test(page.url()));
  await open("/ui/compare/bulgannawar-vaidya/raymond-k?n=2&k=8&at=1");
  await page.getByText("k is 2 now").waitFor();
  await page.locator(".versus").waitFor();
  assert.deepEqual(page.wrongs, []);
});

test("a trace file opens as a run, and rubbish is refused", { timeout: LONG }, async () => {
  const steps = ["req1", "1>0", "0>1", "exit1"];
  const trace = await (await ask("/player/trace", { algorithm: "naimi-trehel", nodes: 3, seed: 7, steps })).text();
  await open("/ui/open");
  await fine();
  await page.locator("#file").setInputFiles({ name: "rubbish.json", mimeType: "application/json", buffer: Buffer.from("this is no trace") });
  await page.getByText("rubbish.json cannot be opened").waitFor();
  // Rubbish is a bad request, and the browser notes that.
  assert.match(page.wrongs.splice(0).join(), /^console: [^,]*status of 422[^,]*$/);
  await fine();
  await page.locator("#file").setInputFiles({ name: "run.trace.json", mimeType: "application/json", buffer: Buffer.from(trace) });
  await page.waitForURL(/\/ui\/play\/naimi-trehel\?.*#r=/);
  const run = /#r=(.*)$/.exec(page.url())[1];
  const opened = await (await fetch(`${stage.door}/player/open`, { method: "POST", body: run })).json();
  assert.deepEqual(opened.steps, steps);
  // The same by its link.
  const link = page.url();
  await open("/ui/open");
  await page.getByLabel("Or paste a link").fill(link);
  await page.getByRole("button", { name: "Open" }).click();
  await page.waitForURL(/\/ui\/play\/naimi-trehel\?.*#r=/);
});

test("all of it fits a phone, and dark colours", { timeout: 2 * LONG }, async () => {
  for (const where of ["/ui/gallery", "/ui/gallery/drs-gme/start-unguarded", "/ui/compare/bulgannawar-vaidya/raymond-k?at=20", "/ui/open"]) {
    await open(where, { width: 390, height: 844, dark: true });
    await page.locator("h1").waitFor();
    if (where.includes("compare")) await page.locator(".versus").waitFor();
    assert.ok(await whole(), `${where}: nothing is cut off`);
    await fine();
  }
  await open("/ui/compare/bulgannawar-vaidya/raymond-k?at=20", { width: 390, height: 844 });
  await page.locator(".side-switch button", { hasText: "raymond-k" }).click();
  await page.locator(".side-b").waitFor();
  assert.ok(!(await page.locator(".side-a").isVisible()), "one side at a time");
});
