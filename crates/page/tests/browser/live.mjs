// The page in a real browser, with a real cluster behind it: every view, and what readers do with them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import http from "node:http";
import { after, before, test } from "node:test";

import { pretend } from "./pretend.mjs";
import { LONG, Stage, inaccessible, sound, until } from "./stage.mjs";

let stage;
let page;

const text = (selector) => page.locator(selector).first().innerText();
const row = (name) => page.locator(`.rows .row[data-name="${name}"]`);
const fine = () => sound(page);

async function open(where, options) {
  await page?.close();
  page = await stage.page(where, options);
}

before(async () => {
  stage = await Stage.begin();
  await stage.browse();
}, { timeout: LONG });

after(() => stage?.end(), { timeout: LONG });

test("an empty cluster says what fills it", { timeout: LONG }, async () => {
  await open("/ui");
  await page.getByText("Nothing is held").waitFor();
  await page.getByText("3 nodes are up and agree").waitFor();
  await until("all three nodes are drawn", async () => (await page.locator("svg.ring a.node").count()) === 3);
  assert.match(await text(".facts"), /3 nodes, all within reach/);
  await until("a node leads", async () => /node \d leads/.test(await text(".facts")));
  await fine();
});

test("a page that is out of sight gives up its connection, and says what it missed", { timeout: LONG }, async () => {
  // A browser has six connections to a node: the seventh page would show nothing.
  await open("/ui/events");
  const isWatch = (request) => request.url().includes("/v1/watch");
  const look = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await until("it watches", async () => /nothing missed/.test(await text("main")));
  await page.clock.install();
  const gone = page.waitForEvent("requestfailed", isWatch);
  await look(true);
  await page.clock.fastForward(31_000);
  await gone;
  const again = page.waitForRequest(isWatch);
  await look(false);
  await again;
  await page.getByText("This page was out of sight: what happened until now is missing.").waitFor();
  assert.deepEqual(page.wrongs, []);
  await open("/ui");
});

test("an operator's minute: three run, the third waits and enters", { timeout: LONG }, async () => {
  const run = () => stage.start(["run", "minute", "--slots", "2", "--", "sleep", "600"]);
  const discs = async (kind) => row("minute").locator(`.disc.${kind}`).count();
  const running = [run(), run()];
  await until("two hold", async () => (await discs("in")) === 2);
  running.push(run());
  await until("the third waits", async () => (await discs("waits")) === 1);
  await page.getByRole("button", { name: "Waiting 1" }).waitFor();
  await until("its wait is told", async () => /\d s/.test(await row("minute").locator(".longest").innerText()));
  await stage.kill(running[0]);
  await until("the third enters", async () => (await discs("waits")) === 0 && (await discs("in")) === 2);
  await Promise.all(running.map((child) => stage.kill(child)));
  await until("all is over", async () => (await discs("in")) === 0);
});

test("a third client of two slots waits, and enters", { timeout: LONG }, async () => {
  const first = stage.hold(0, "gpu", ["--slots", "2"], "the first");
  const second = stage.hold(1, "gpu", ["--slots", "2"]);
  await until("two slots are held", async () => (await row("gpu").locator(".disc.in").count()) === 2);
  const third = stage.hold(2, "gpu", ["--slots", "2"], "the third");
  await until("the third waits", async () => (await row("gpu").locator(".disc.waits").innerText().catch(() => "")) === "2");
  assert.match(await text(".events"), /waits/);
  await fine();

  // One name in full, by a click on its row; back and forward again.
  await row("gpu").click();
  await page.waitForURL("**/ui/name/gpu");
  const [holders, queue] = [page.locator('section[aria-label="Holders"]'), page.locator('section[aria-label="Queue"]')];
  await holders.getByText("the first").waitFor();
  await queue.getByText("the third").waitFor();
  assert.match(await holders.locator("tbody tr").first().innerText(), /1:\d/, "a fence is view:counter");
  await until("both tokens are on the graph", async () => (await page.locator(".graph .token").count()) === 2);
  await until("a token has a queue", async () => (await page.locator(".graph .bead").count()) > 0);
  const { pointers } = await stage.ask("GET", "/v1/locks/gpu");
  assert.ok(pointers.length > 0 && pointers.every(({ from, to }) => from !== to), JSON.stringify(pointers));
  await until("pointers are drawn", async () => (await page.locator(".graph .way .path").count()) > 0);
  await fine();

  // The same as tables, and back.
  await page.locator("h1").click();
  await page.keyboard.press("t");
  await page.getByRole("region", { name: "Where the tokens are, as a table" }).getByText("→").first().waitFor();
  await page.getByRole("region", { name: "Hand-offs, as a table" }).getByText("held now").first().waitFor();
  await page.getByRole("region", { name: "How many waited, as a table" }).waitFor();
  assert.equal(await page.locator("svg.graph").isVisible(), false);
  await fine();
  await page.getByRole("button", { name: "As tables" }).click();
  await page.locator("svg.graph").waitFor();
  await page.goBack();
  await row("gpu").waitFor();
  await page.goForward();
  await queue.getByText("the third").waitFor();

  // The first lets go, and the page sees the hand-off.
  await stage.kill(first);
  await holders.getByText("the third").waitFor();
  await until("the hand-off is drawn", async () => (await page.locator(".handoffs .held").count()) >= 3);
  assert.match(await text(".lane.wait .end"), /none waits/);
  await stage.kill(second);
  await stage.kill(third);
});

test("a semaphore is defined, resized, and a grant revoked", { timeout: LONG }, async () => {
  await open("/ui/live");
  await page.getByRole("button", { name: "Define…" }).click();
  await page.getByLabel("Name", { exact: true }).fill("pool");
  await page.getByLabel("Kind").selectOption("semaphore");
  await page.getByRole("spinbutton", { name: "Slots" }).fill("2");
  await page.getByRole("dialog").getByText("tokenwood define pool --slots 2").waitFor();
  await fine();
  await page.getByRole("dialog").getByRole("button", { name: "Define", exact: true }).click();
  await row("pool").getByText("2 slots, defined").waitFor();

  await stage.ask("POST", "/v1/locks/pool/acquire?slots=2&ttl=300s&label=stuck");
  await open("/ui/name/pool");
  await page.getByRole("button", { name: "Resize…" }).click();
  await page.getByRole("spinbutton", { name: "Slots" }).fill("3");
  await page.getByRole("dialog").getByRole("button", { name: "Resize", exact: true }).click();
  await page.getByText("3 slots").first().waitFor();
  await page.getByRole("button", { name: "Force release…" }).click();
  await page.getByRole("dialog").getByText("stuck").waitFor();
  await page.getByText("(breaks exclusion").click();
  const revoke = page.getByRole("dialog").getByRole("button", { name: "Force release", exact: true });
  assert.ok(await revoke.isDisabled(), "the unsafe way asks for the name");
  await fine();
  await page.getByLabel("Type pool to confirm").fill("pool");
  await revoke.click();
  await page.getByText("Revoked. The slot is free").waitFor();
  await page.keyboard.press("Escape");
  await page.locator('section[aria-label="Holders"]').getByText("free", { exact: true }).waitFor();
});

test("the picture holds still, and counts what waits", { timeout: LONG }, async () => {
  await open("/ui/");
  await page.locator("svg.ring a.node").first().waitFor();
  await row("pool").waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("Space");
  await page.getByText("held still; 0 events waiting").waitFor();
  await stage.ask("POST", "/v1/locks/quick/acquire?ttl=300s");
  await page.getByText("held still; 1 event waiting").waitFor();
  assert.equal(await row("quick").count(), 0, "the picture does not change");
  // However long that takes, the node is not called silent: it is not asked.
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 60_000;
  });
  await page.waitForTimeout(1500);
  assert.equal(await page.locator(".trouble").isVisible(), false);
  await page.keyboard.press("Space");
  await row("quick").waitFor();
});

test("figures are tables behind T, and a projector shows all larger", { timeout: LONG }, async () => {
  await open("/ui/live");
  await row("quick").waitFor();
  await until("there are figures", async () => /\d/.test(await text(".figure .value")));
  await page.keyboard.press("t");
  const table = page.getByRole("region", { name: "Figures of the last two minutes, as a table" });
  await table.getByText("p99 wait").waitFor();
  await until("it has rows", async () => (await table.locator("tbody tr").count()) > 0);
  await until("grants are numbers", async () => /last minute/.test(await row("quick").locator(".grants").innerText()));
  await fine();
  await page.keyboard.press("t");
  const size = () => row("quick").evaluate((it) => it.getBoundingClientRect().height);
  const small = await size();
  await page.keyboard.press("p");
  await page.waitForURL(/stage=1/);
  assert.equal(await page.locator("#top").isVisible(), false, "no bars");
  assert.ok((await size()) > 1.2 * small, "larger");
  await fine();
  await row("quick").click();
  await page.waitForURL("**/ui/name/quick?stage=1");
  await page.locator('section[aria-label="Holders"] tbody tr').waitFor();
  assert.equal(await page.locator("#top").isVisible(), false, "the projector goes along");
  for (const size of [{ width: 1280, height: 800 }, { width: 1920, height: 1080 }]) {
    await page.setViewportSize(size);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  }
  await page.keyboard.press("Escape");
  await page.locator("#top").waitFor();
  assert.ok(!page.url().includes("stage"));
});

test("a cluster of many nodes fits", { timeout: 2 * LONG }, async () => {
  for (const nodes of [13, 25, 50]) {
    await open("/ui/no/such/view");
    await pretend(page, nodes);
    await page.goto(`${stage.door}/ui/live`);
    await until(`${nodes} nodes are drawn`, async () => (await page.locator("svg.ring a.node").count()) === nodes);
    assert.equal(await page.locator("svg.ring.grid").count(), nodes >= 25 ? 1 : 0, "a grid from 25 nodes on");
    assert.equal((await page.locator("svg.ring .label").allTextContents()).join(""), "", "labels on focus only");
    await page.locator("svg.ring a.node").last().focus();
    await until("the focus has a label", async () => new RegExp(`node ${nodes - 1}, `).test(await page.locator("svg.ring .told").textContent()));
    // No node covers another, and no label is outside.
    const apart = await page.locator("svg.ring a.node .edge").evaluateAll((edges) => {
      const at = edges.map((edge) => edge.getBoundingClientRect());
      return at.every((a, i) => at.every((b, j) => i >= j || Math.hypot(a.x + a.width / 2 - b.x - b.width / 2, a.y + a.height / 2 - b.y - b.height / 2) >= (a.width + b.width) / 2 - 1));
    });
    assert.ok(apart, "nodes stand apart");
    const told = await page.locator("svg.ring .told").evaluate((label) => [label.getBoundingClientRect(), label.closest(".panel").getBoundingClientRect()].map(({ left, right }) => [left, right]));
    assert.ok(told[0][0] >= told[1][0] && told[0][1] <= told[1][1], `the label is within the panel: ${JSON.stringify(told)}`);
    await fine();
    await page.goto(`${stage.door}/ui/name/huge`);
    await until("the home and the tokens are drawn", async () => (await page.locator(".graph a.spot").count()) === Math.min(16, nodes));
    await page.locator(`.graph a.spot[href$="/node/${nodes - 1}"]`).waitFor();
    assert.ok((await page.locator(".graph *").count()) < 400, "the graph stays light");
    await page.getByRole("combobox", { name: "Which slot" }).selectOption("3");
    await until("one slot is chosen", async () => (await page.locator(".graph .token").count()) === 1 && (await page.locator(".graph .way").count()) > 5);
    await fine();
  }
  await open("/ui/no/such/view", { width: 390, height: 844 });
  await pretend(page, 50);
  await page.goto(`${stage.door}/ui/live`);
  await until("fifty rings are there", async () => (await page.locator(".small-ring").count()) === 50);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector(".names").getBoundingClientRect().top < 320), "names are in sight");
});

test("with forced colours, ring, dash and number stay", { timeout: LONG }, async () => {
  await open("/ui/no/such/view");
  await pretend(page, 5);
  await page.emulateMedia({ forcedColors: "active" });
  await page.goto(`${stage.door}/ui/name/huge`);
  await page.locator(".graph .token").first().waitFor();
  const style = (selector, property) => page.locator(selector).first().evaluate((it, name) => getComputedStyle(it)[name], property);
  const [disc, ground] = [await style(".spot.in .disc", "fill"), await style("body", "backgroundColor")];
  assert.notEqual(disc, ground, "what is held is filled");
  assert.notEqual(await style(".spot.in .number", "fill"), disc, "the number can be read");
  assert.notEqual(await style(".way .path.t1", "strokeDasharray"), "none", "the dash tells the slot");
  assert.notEqual(await style(".way .path.t1", "stroke"), ground);
  assert.deepEqual(page.wrongs, []);
});

test("events, a node and an address of nowhere have views", { timeout: LONG }, async () => {
  await open("/ui/events?name=quick");
  await page.getByRole("heading", { name: "Events", level: 2 }).waitFor();
  await stage.ask("POST", "/v1/locks/other/acquire?ttl=300s", 1);
  await page.getByRole("button", { name: "only quick" }).click();
  await page.getByText("other").waitFor();
  await fine();
  await open("/ui/node/1");
  await row("other").waitFor();
  await until("the facts are there", async () => /127\.0\.0\.1/.test(await text(".node-facts")));
  assert.equal(await row("quick").count(), 0, "node 1 has nothing to do with it");
  await fine();
  await open("/ui/no/such/view");
  await page.getByText("There is no such view").waitFor();
  await page.getByRole("link", { name: "See the cluster" }).click();
  await row("quick").waitFor();
});

test("colours can be dark, and the page fits a phone", { timeout: LONG }, async () => {
  await open("/ui/", { dark: true });
  await row("quick").waitFor();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(18, 23, 18)");
  await fine();
  await page.getByRole("button", { name: "Use light colours" }).click();
  assert.equal(await ground(), "rgb(250, 249, 245)");
  await page.getByRole("button", { name: "Use dark colours" }).click();
  await open("/ui/", { width: 390, height: 844 });
  await row("quick").waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await page.locator("#tabs").getByText("Events").click();
  await page.waitForURL("**/ui/events");
  await fine();
  await open("/ui/name/quick", { width: 390, height: 844 });
  await page.locator('section[aria-label="Holders"] tbody tr').waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await fine();
});

test("on a phone a name has tabs", { timeout: LONG }, async () => {
  const phone = { width: 390, height: 844 };
  await open("/ui/name/quick", phone);
  const tab = (name) => page.getByRole("tab", { name });
  const panels = () => page.getByRole("tabpanel").count();
  await until("holders are counted", async () => (await tab("Holders").innerText()) === "Holders 1");
  await page.getByRole("tabpanel", { name: "Holders" }).locator("tbody tr").waitFor();
  for (const one of await page.getByRole("tab").all()) assert.ok((await one.boundingBox()).height >= 44, "a finger hits it");
  await tab("Queue").click();
  await page.waitForURL("**/ui/name/quick?tab=queue");
  await fine();

  // Arrows go round and take the focus along. The address is replaced.
  const pages = () => page.evaluate(() => history.length);
  const before = await pages();
  for (const [key, name, shown] of [["ArrowRight", "where", "Where the tokens are"], ["ArrowRight", "handoffs", "Hand-offs"], ["ArrowRight", "holders", "Holders"], ["ArrowLeft", "handoffs", "Hand-offs"], ["Home", "holders", "Holders"], ["End", "handoffs", "Hand-offs"]]) {
    await page.keyboard.press(key);
    await page.getByRole("tabpanel", { name: shown }).waitFor();
    assert.equal(await panels(), 1, "one panel is in sight");
    assert.deepEqual(await page.evaluate(() => [document.activeElement.id, document.querySelectorAll('[role="tab"][tabindex="0"]').length]), [`tab-${name}`, 1]);
    assert.equal(new URL(page.url()).searchParams.get("tab"), name === "holders" ? null : name);
  }
  assert.equal(await pages(), before);
  await page.getByRole("button", { name: "5 min" }).click();
  assert.deepEqual([...new URL(page.url()).searchParams], [["tab", "handoffs"], ["span", "5min"]]);
  await fine();

  // A link opens its tab, and the graph has letters that can be read.
  await open("/ui/name/quick?tab=where", phone);
  await page.locator(".graph .token").waitFor();
  assert.ok((await page.locator("svg.graph").evaluate((graph) => graph.getScreenCTM().a)) > 0.95);
  assert.equal(await page.locator('section[aria-label="Holders"]').isVisible(), false);
  await fine();
  // With more room there are no tabs.
  await page.setViewportSize({ width: 900, height: 800 });
  await page.locator('section[aria-label="Holders"] tbody tr').waitFor();
  assert.deepEqual([await page.getByRole("tab").count(), await panels()], [0, 0]);
  await fine();
});

test("with less room than a column of them needs, events are in a drawer", { timeout: LONG }, async () => {
  await open("/ui/live", { width: 900, height: 800 });
  await row("quick").waitFor();
  await page.locator(".small-ring").first().waitFor();
  const button = () => page.getByRole("button", { name: /^Events/ });
  const list = () => page.locator(".overview .happens");
  assert.equal(await list().isVisible(), false);
  await stage.ask("POST", "/v1/locks/drawn/acquire?ttl=300s", 1);
  await until("new events are counted", async () => /^Events\s\d+ new$/.test(await button().innerText()));
  await fine();
  await button().click();
  await list().getByText("drawn").first().waitFor();
  assert.match(page.url(), /events=1/);
  assert.deepEqual(await page.evaluate(() => [document.activeElement.getAttribute("aria-label"), document.querySelector(".to-drawer").getAttribute("aria-expanded")]), ["Close events", "true"]);
  await until("they are not new any more", async () => (await button().innerText()).trim() === "Events");
  await page.getByRole("button", { name: /^Mutexes/ }).click();
  assert.match(page.url(), /kind=mutex&events=1/, "a filter keeps it open");
  assert.ok(await row("drawn").isVisible(), "names stay in sight");
  await fine();
  await page.keyboard.press("Escape");
  assert.equal(await list().isVisible(), false);
  assert.ok(await button().evaluate((it) => it === document.activeElement), "the focus goes back");
  assert.doesNotMatch(page.url(), /events/);
  await open("/ui/live?events=1", { width: 900, height: 800, dark: true });
  await list().waitFor();
  await fine();
  await page.setViewportSize({ width: 1280, height: 800 });
  await list().waitFor();
  assert.equal(await button().isVisible(), false, "a column needs no button");
});

test("what was missed is said in full, and a name or a node shows its own events", { timeout: LONG }, async () => {
  const event = (kind, facts) => `event: ${kind}\ndata: ${JSON.stringify(facts)}\n\n`;
  const grant = { session: 1, request: 1, slot: 0, fence: 1, kind: "mutex" };
  const body = event("granted", { ...grant, name: "quick", node: 0 }) + event("granted", { ...grant, name: "other", node: 1 }) + event("session-ended", { node: 2 }) + event("missed", { events: 312 });
  await open("/ui/no/such/view", { width: 390, height: 844 });
  await page.route("**/v1/watch*", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  const said = async (where) => {
    await page.goto(`${stage.door}${where}`);
    await page.getByText("312 events were missed").first().waitFor();
    return new Set(await page.locator(".events li:not(.gap) .text").allInnerTexts());
  };
  assert.equal((await said("/ui/events")).size, 3);
  const missed = await page.getByText("312 events were missed").first().boundingBox();
  assert.ok(missed.width > 200, `it is cut off after ${missed.width} pixels`);
  assert.deepEqual([...(await said("/ui/events?name=quick"))], ["quick at node 0 0:1"]);
  assert.deepEqual([...(await said("/ui/node/1"))], ["other at node 1 0:1"]);
});

test("ten thousand names are found and scrolled", { timeout: 2 * LONG }, async (context) => {
  await page.close();
  const begun = Date.now();
  await fill(10_000);
  context.diagnostic(`10,000 names within ${Date.now() - begun} ms`);
  await open("/ui/live?sort=name");
  await until("all are listed", async () => /10,0\d\d/.test(await text(".counted")));
  await page.keyboard.press("/");
  await page.keyboard.type("many/0012");
  await until("the search counts", async () => /^1?10 of 10,0\d\d$/.test(await text(".counted")), LONG);
  assert.match(page.url(), /q=many/);
  await page.getByRole("searchbox").fill("");
  const rows = page.locator(".rows .row");
  await page.locator(".names .scroll").evaluate((scroll) => (scroll.scrollTop = 48 * 5000));
  await until("the middle is in sight", async () => /many\/049\d\d/.test((await rows.allInnerTexts()).join(" ")));
  assert.ok((await rows.count()) <= 100, "only what is in sight is in the document");
  // Fluent: a hundred steps of the wheel, and no frame that takes long on average.
  const frame = await page.locator(".names .scroll").evaluate(async (scroll) => {
    const begun = performance.now();
    for (let step = 0; step < 60; step += 1) {
      scroll.scrollTop += 400;
      await new Promise(requestAnimationFrame);
    }
    return (performance.now() - begun) / 60;
  });
  assert.ok(frame < 250, `a step of the wheel took ${frame} ms`);
  await fine();
});

test("with rights the page asks for a token, and shows who may not act", { timeout: 2 * LONG }, async () => {
  const [here, admin] = [stage, (await stage.says(["auth", "on", "--quiet"])).trim()];
  const asAdmin = { TOKENWOOD_TOKEN: admin };
  const watcher = (await here.says(["auth", "token", "add", "watcher", "--quiet"], asAdmin)).trim();
  await here.says(["auth", "rule", "add", "watcher", "", "read"], asAdmin);
  await open("/ui/live?q=quick");
  await page.getByText("This cluster asks who you are").waitFor();
  assert.deepEqual(await inaccessible(page), []);
  await page.locator("#token").fill("f".repeat(64));
  await page.getByRole("button", { name: "Look" }).click();
  await page.getByText("This node does not know the token").waitFor();
  await page.locator("#token").fill(watcher);
  await page.getByRole("button", { name: "Look" }).click();
  await row("quick").waitFor();
  assert.deepEqual(await page.evaluate(() => [Object.keys(localStorage).filter((key) => key.includes("token.")), Object.values(sessionStorage).length]), [[], 1], "the token is in the tab only");
  await page.getByRole("button", { name: "Define…" }).click();
  await page.getByLabel("Name", { exact: true }).fill("mine");
  await page.getByRole("dialog").getByRole("button", { name: "Define", exact: true }).click();
  await page.getByText("You may look, and not do this.").waitFor();
  // The refusals are the only errors that the console tells of.
  assert.deepEqual(page.wrongs.filter((wrong) => !/status of 40[13]/.test(wrong)), []);
});

test("a cluster with certificates shows what a token may read", { timeout: 2 * LONG }, async () => {
  const here = stage;
  await page?.close();
  const secure = await Stage.begin({ arguments: ["--secure"] });
  try {
    const admin = (await fs.readFile(secure.token_file, "utf8")).trim();
    const asAdmin = { TOKENWOOD_CA: secure.ca, TOKENWOOD_TOKEN: admin };
    const mute = (await secure.says(["auth", "token", "add", "mute", "--quiet"], asAdmin)).trim();
    await secure.browse([], { ignoreHTTPSErrors: true });
    page = await secure.page("/ui/name/gpu");
    await page.getByText("This cluster asks who you are").waitFor();
    const give = async (token) => (await page.locator("#token").fill(token), page.getByRole("button", { name: "Look" }).click());
    await give(mute);
    await page.getByText("You are 'mute', and may not read").first().waitFor();
    assert.equal(await page.locator(".trouble").isVisible(), false, "it is said once");
    await give(admin);
    await page.getByText("free: it can become anything").waitFor();
    assert.deepEqual(page.wrongs.filter((wrong) => !/status of 40[13]/.test(wrong)), []);
  } finally {
    await secure.end();
    [stage, page] = [here, null];
  }
});

test("with certificates, a grant is revoked at another node", { timeout: 2 * LONG }, async () => {
  const here = stage;
  await page?.close();
  const secure = await Stage.begin({ arguments: ["--secure"] });
  const asAdmin = { TOKENWOOD_CA: secure.ca, TOKENWOOD_TOKEN: (await fs.readFile(secure.token_file, "utf8")).trim() };
  const holder = spawn(process.env.TOKENWOOD_PROGRAM, ["run", "gpu", "--", "sleep", "600"], { stdio: "ignore", env: { ...process.env, ...asAdmin, TOKENWOOD_ENDPOINTS: secure.nodes[2].endpoint } });
  const ended = once(holder, "exit");
  try {
    const ops = (await secure.says(["auth", "token", "add", "ops", "--quiet"], asAdmin)).trim();
    await secure.says(["auth", "rule", "add", "ops", "", "read"], asAdmin);
    await secure.browse([], { ignoreHTTPSErrors: true });
    page = await secure.page("/ui/name/gpu");
    await page.locator("#token").fill(ops);
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByRole("button", { name: "Force release…" }).click();
    const revoke = page.getByRole("dialog").getByRole("button", { name: "Force release", exact: true });
    await page.getByText("at node 2 for").waitFor();
    await revoke.click();
    await page.getByText("You may look, and not do this. You are 'ops', and may not force 'gpu'").waitFor();
    await secure.says(["auth", "rule", "add", "ops", "gpu", "force"], asAdmin);
    // Nodes hear of the rule one after the other.
    const revoked = page.getByText("Revoked. The slot is free");
    await until("it is revoked", async () => (await revoked.isVisible()) || (await revoke.click({ timeout: 1000 }).catch(() => null), false));
    await ended;
    const audit = (await secure.says(["audit", "--format", "json"], asAdmin)).trim().split("\n").map((line) => JSON.parse(line));
    const forced = audit.filter((entry) => entry.what === "forced release" && entry.principal === "ops");
    assert.ok(forced.some(({ node, allowed }) => node === 0 && !allowed), JSON.stringify(forced));
    assert.ok(forced.some(({ node, allowed, address }) => node === 2 && allowed && / via node 0$/.test(address)), JSON.stringify(forced));
    assert.deepEqual(page.wrongs.filter((wrong) => !/status of 40[13]/.test(wrong)), []);
  } finally {
    holder.kill();
    await secure.end();
    [stage, page] = [here, null];
  }
});

/** Sends a request over connections that are kept: ten thousand of them are many. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 12 });
const post = (node, path) => new Promise((done, failed) => {
  const [host, port] = stage.nodes[node].http.split(":");
  const request = http.request({ agent, host, port, path, method: "POST" }, (response) => {
    response.resume();
    response.on("end", () => (response.statusCode === 200 ? done() : failed(new Error(`${path}: ${response.statusCode}`))));
  });
  request.on("error", failed);
  request.end();
});

/** Holds so many names with real requests, at all nodes. */
async function fill(names) {
  const sessions = await Promise.all(stage.nodes.map((_, node) => Promise.all([0, 1, 2, 3].map(() => stage.ask("POST", "/v1/sessions?ttl=300s", node)))));
  let next = 0;
  const work = async (lane) => {
    const node = lane % stage.nodes.length;
    for (let name = next++; name < names; name = next++) {
      const { session } = sessions[node][name % 4];
      await post(node, `/v1/locks/many%2F${String(name).padStart(5, "0")}/acquire?wait=30s&session=${session}`);
    }
  };
  await Promise.all(Array.from({ length: 36 }, (_, lane) => work(lane)));
  agent.destroy();
}
