// The player in a real browser: a teacher's ten minutes, every control, back and forth, links, and many algorithms.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { LONG, Stage, inaccessible, until } from "./stage.mjs";

let stage;
let page;

const text = (selector) => page.locator(selector).first().innerText();
const button = (name, more = {}) => page.getByRole("button", { name, exact: true, ...more });
const row = (node) => page.locator(".of-nodes tbody tr").nth(node);
const act = (node, word) => row(node).getByRole("button", { name: new RegExp(`^${word}`) }).first();
const at = async () => Number(await page.locator(".step-input").inputValue());
const stands = (step) => until(`step ${step}`, async () => (await at()) === step);
const fine = async () => {
  assert.deepEqual(page.wrongs, []);
  assert.deepEqual(await inaccessible(page), []);
};
const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

async function open(where, options) {
  await page?.close();
  page = await stage.page(where, options);
}

/** Opens a view of the player, and waits until its run is there. */
async function play(where, options) {
  await open(where, options);
  await until(`${where} is drawn`, async () => (await page.locator("svg.graph .spot").count()) > 0).catch((error) => {
    throw new Error(`${error.message}: ${page.wrongs}`);
  });
}

/** All that a state shows, as text, or null while something moves. One reading: a flight that ends between two would leave the picture of before. */
const picture = () => page.evaluate(() => {
  if (document.querySelector("svg.graph[data-moving]")) return null;
  const panels = [".of-nodes tbody", ".flights", ".rule-list .ran", ".verdicts", ".sentence-text", ".counts"].map((it) => document.querySelector(it)?.textContent ?? "");
  const graph = [...document.querySelectorAll("svg.graph .spot, svg.graph .message")].map((it) => `${it.getAttribute("class")} ${it.getAttribute("aria-label")}`);
  return [...panels, ...graph].join("\n");
});

/** The picture of the state where the run stands: nothing moves any more. */
async function settled(step) {
  await stands(step);
  let last = "";
  return until("the picture rests", async () => {
    const [had, now] = [last, await picture()];
    last = now;
    return had === now && now;
  });
}

before(async () => {
  stage = await Stage.play();
  await stage.browse();
}, { timeout: LONG });

after(() => stage?.end(), { timeout: LONG });

test("a teacher's ten minutes: contend, a request is modified, break it, share it", { timeout: 2 * LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya?n=3&k=2&seed=7");
  await page.getByText("This is the start.").waitFor();
  for (const node of [0, 1, 2]) await act(node, "Request").waitFor();
  await fine();
  // Three nodes contend.
  await act(0, "Request").click();
  await stands(1);
  await act(1, "Request").click();
  await stands(2);
  await act(2, "Request").click();
  await stands(3);
  await row(2).getByText("waits").waitFor();
  assert.equal(await page.locator("svg.graph .spot.in").count(), 2);
  // The message is delivered by a click on it, in the graph and in the list.
  await page.locator("svg.graph .message").first().click();
  await stands(4);
  await act(0, "Exit").click();
  await stands(5);
  await act(1, "Exit").click();
  await stands(6);
  await page.locator(".flights").getByRole("button", { name: /^Deliver/ }).first().click();
  await stands(7);
  assert.match(await text(".rule-list .ran"), /TOKEN/);
  await fine();
  // It goes on by itself until a request was modified: the page says so.
  await until("a request was modified", async () => {
    if (/turned into one for another token/.test(await text(".seen").catch(() => ""))) return true;
    await button("Run on 20").click();
    return false;
  });
  // The error of the paper.
  await page.locator("select[name=defect]").selectOption("holding-not-set");
  await page.getByText("set 'holding' whenever the client enters").waitFor();
  await button("Watch it fail").click();
  await page.locator(".of-properties.violated").getByText("2 inside, 1 allowed").waitFor();
  assert.match(await text(".sentence-text"), /at-most-k-inside/);
  await page.locator("svg.graph .wrong .tag").waitFor();
  await fine();
  // The link has it all.
  await until("the address is the run's", () => /defect=holding-not-set.*at=4.*#r=/.test(page.url()));
  const [where, shown] = [new URL(page.url()), await settled(4)];
  await play(where.pathname + where.search + where.hash);
  assert.equal(await settled(4), shown, "a shared link gives the same run");
  await button("See it right").first().click();
  await until("the defect is gone", () => !/defect=/.test(page.url()));
  assert.equal(await page.locator(".of-properties.violated").count(), 0);
});

test("back and forth give the same states, and the past branches", { timeout: LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya?n=5&k=2&seed=3");
  await button("Run on 20").click();
  await stands(20);
  await button("Run on 20").click();
  await stands(40);
  const seen = new Map();
  for (let step = 40; step >= 30; step -= 1) {
    seen.set(step, await settled(step));
    await button("Back").click();
  }
  await stands(29);
  for (let step = 30; step <= 40; step += 1) {
    await button("Step").click();
    assert.equal(await settled(step), seen.get(step), `state ${step}`);
  }
  // Keys do the same.
  await page.locator("h1").first().evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Home");
  await stands(0);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press(".");
  await page.keyboard.press("PageDown");
  await stands(3);
  await page.keyboard.press("ArrowLeft");
  await stands(2);
  await page.keyboard.press("Shift+ArrowRight");
  await until("an entry", async () => (await at()) > 2);
  await page.keyboard.press("End");
  await stands(40);
  await page.keyboard.press("G");
  await page.keyboard.type("12");
  await page.keyboard.press("Enter");
  assert.equal(await settled(12).then((now) => now.length > 0), true);
  // Another step in the past: the old future is kept.
  const can = page.locator(".of-nodes tbody button[data-step]");
  const future = await (await fetch(`${stage.door}/player/open`, { method: "POST", body: new URL(page.url()).hash.slice(3) })).json();
  const steps = await can.evaluateAll((all) => all.map((it) => it.dataset.step));
  const other = steps.findIndex((step) => !future.steps[12].startsWith(step));
  await can.nth(other).click();
  await stands(13);
  await page.getByText("of 13").waitFor();
  await page.getByText("1 branch").waitFor();
  await fine();
});

test("nodes crash and restart, messages are lost and doubled, timers expire", { timeout: LONG }, async () => {
  await play("/ui/play/suzuki-kasami?n=4");
  await page.locator('svg.graph [data-node="1"]').click();
  await page.locator(".chosen-node").getByRole("button", { name: /^Request/ }).click();
  await stands(1);
  await page.getByText("3 messages").waitFor();
  await page.locator(".flights li").first().getByRole("button", { name: /^More/ }).click();
  await page.getByRole("menuitem", { name: /^Duplicate/ }).click();
  await page.getByText("4 messages").waitFor();
  await page.locator(".flights li").first().getByRole("button", { name: /^More/ }).click();
  assert.match(await text(".menu[role=menu]"), /beyond what it claims to bear/);
  await fine();
  await page.getByRole("menuitem", { name: /^Lose/ }).click();
  await until("a message is lost", async () => /^lose/.test(await text(".step-chip")));
  await page.locator(".chosen-node").getByRole("button", { name: /^Crash/ }).click();
  await page.locator("svg.graph .spot.crashed").waitFor();
  await fine();
  await page.locator(".chosen-node").getByRole("button", { name: /^Restart/ }).click();
  await until("it is up again", async () => (await page.locator("svg.graph .spot.crashed").count()) === 0);
  // The same by keys.
  await page.locator(".sentence-text").click();
  await page.keyboard.press("2");
  await page.keyboard.press("C");
  await page.locator("svg.graph .spot.crashed").waitFor();
  await page.keyboard.press("J");
  const had = await at();
  await page.keyboard.press("D");
  await until("a message is delivered", async () => (await at()) === had + 1);
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("deliver the chosen message").waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(page.wrongs, []);
  // A request names its group, and a timer of a node that waits expires.
  await play("/ui/play/drs-gme?n=3");
  await act(1, "Request").click();
  await page.getByRole("menuitem", { name: /^Request group 1/ }).click();
  await stands(1);
  assert.match(await text(".step-chip"), /^req1:1/);
  await page.keyboard.press("1");
  await page.locator(".chosen-node").getByRole("button", { name: /^Timer suspect/ }).click();
  await until("the timer expired", async () => /^tmo1/.test(await text(".step-chip")));
  await fine();
});

test("a run plays by itself, pauses, and is faster", { timeout: LONG }, async () => {
  await play("/ui/play/naimi-trehel?n=5");
  await page.getByLabel("Speed", { exact: true }).selectOption("32");
  await button("Play").click();
  await until("it plays", async () => (await at()) > 30);
  await button("Pause").click();
  const stood = await at();
  await new Promise((done) => setTimeout(done, 400));
  assert.ok((await at()) - stood <= 1, "a pause is a pause");
  await page.locator(".sentence-text").click();
  await page.keyboard.press("-");
  assert.equal(await page.getByLabel("Speed", { exact: true }).inputValue(), "16");
  await page.keyboard.press("Space");
  await button("Pause").waitFor();
  await page.keyboard.press("Space");
  await button("Play").waitFor();
  await fine();
});

/** Holds the answers to a question of the page back, from now on: [what was asked, by its order; what lets one go]. */
async function held(path) {
  const asked = [];
  await page.route(`**/player/${path}`, async (route) => {
    const body = route.request().postDataJSON();
    await new Promise((go) => asked.push({ body, go }));
    await route.continue();
  });
  return asked;
}

test("a late answer is of no other run than the one that asked", { timeout: LONG }, async () => {
  const shows = () => page.evaluate(() => [document.querySelector(".player h1").textContent, document.querySelectorAll("svg.graph .tokens .token").length]);
  const other = { algorithm: async () => {
    await page.getByRole("button", { name: "Algorithm: bulgannawar-vaidya" }).click();
    await page.getByRole("searchbox", { name: "Find an algorithm" }).fill("naimi");
    await page.keyboard.press("Enter");
  }, text: () => page.locator("select[name=defect]").selectOption("holding-not-set") };
  for (const [what, choose] of Object.entries(other)) for (const late of ["play", "autorun"]) {
    await play("/ui/play/bulgannawar-vaidya?n=6&k=2");
    const asked = await held(late);
    if (late === "play") await act(2, "Request").click();
    else await button("Step").click();
    await until("the first is asked", () => asked.length === 1);
    await choose();
    if (late === "play") {
      await until("the second is asked", () => asked.length === 2);
      asked[1].go();
    }
    await until(`the other ${what} is there`, () => (what === "text" ? /defect=holding/ : /naimi-trehel/).test(page.url()));
    await settled(0);
    const shown = await shows();
    // The first question ends after the second: the page no longer works on either.
    asked[0].go();
    await until("nothing is under way", async () => (await page.locator(".player[data-busy]").count()) === 0);
    for (const more of asked.slice(2)) more.go();
    assert.deepEqual([await at(), await shows()], [0, shown], `${what}, ${late}`);
    assert.deepEqual(page.wrongs, []);
  }
});

test("of several plays the last one goes on", { timeout: LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya?n=6&k=2");
  await page.clock.install();
  const asked = await held("autorun");
  await page.locator(".sentence-text").click();
  for (let press = 0; press < 5; press += 1) await page.keyboard.press("Space");
  // The time of the page goes on by half a second each, as long as a step takes.
  for (let step = 1; step <= 6; step += 1) {
    await until("what is asked is answered", async () => {
      for (const { go } of asked) go();
      return (await at()) >= step && (await page.locator(".player[data-busy]").count()) === 0;
    });
    await page.clock.runFor(500);
  }
  assert.ok(asked.length <= 9, `${asked.length} steps in three seconds, two a second`);
});

test("Space plays after a click, and presses what Tab has reached", { timeout: LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya?n=6&k=2");
  await page.getByLabel("Speed", { exact: true }).selectOption("32");
  await act(0, "Request").click();
  await stands(1);
  await act(0, "Exit").waitFor();
  await page.keyboard.press("Space");
  await button("Pause").waitFor();
  await page.keyboard.press("Space");
  await button("Play").waitFor();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await settled(2);
  assert.ok(!/^exit0/.test(await text(".step-chip")), "Space has not made node 0 leave");
  // By keys: the button before is reached, and Space presses it.
  await play("/ui/play/bulgannawar-vaidya?n=6&k=2");
  await page.getByRole("button", { name: "Choose node 0" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await stands(1);
  await act(0, "Exit").waitFor();
  await page.keyboard.press("Space");
  await stands(2);
  assert.match(await text(".step-chip"), /^exit0/);
  // So is a node of the picture.
  await page.locator('svg.graph [data-node="3"]').focus();
  await page.keyboard.press("Space");
  await page.locator("svg.graph .spot.chosen").waitFor();
  await stands(2);
  assert.deepEqual(page.wrongs, []);
});

test("what cannot be done says why, and what is beyond a claim says so", { timeout: LONG }, async () => {
  await play("/ui/play/naimi-trehel?n=-3");
  await page.getByText("n=-3 in the address is no number: nodes is").waitFor();
  await page.keyboard.press("]");
  await page.getByText("So few steps cannot be shown larger.").waitFor();
  await page.keyboard.press("T");
  await page.getByText("No node is chosen").waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("T");
  await page.getByText("Node 1 has no timer that runs.").waitFor();
  // A token that arrives twice.
  const { run } = await (await fetch(`${stage.door}/player/share`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ algorithm: "naimi-trehel", nodes: 3, seed: 7, steps: ["req1", "1>0", "dup0>1", "0>1", "0>1"] }) })).json();
  await play(`/ui/play/naimi-trehel?at=5#r=${run}`);
  await page.locator(".bad-one").getByText("Beyond its claim: the algorithm does not claim to bear step 3, dup0>1.").first().waitFor();
  assert.match(await text(".sentence-text"), /This violates .* But step 3, dup0>1, is beyond what naimi-trehel claims to bear\./);
  // Fewer nodes than tokens take tokens away.
  await play("/ui/play/bulgannawar-vaidya?n=6&k=3");
  await page.getByLabel("nodes", { exact: true }).fill("2");
  await page.getByLabel("nodes", { exact: true }).press("Enter");
  await page.getByText("There are 2 tokens now: no more than nodes.").waitFor();
  await fine();
});

test("at 1280 most nodes of a defect and of a story are in sight, with all their pointers", { timeout: LONG }, async () => {
  /** How many rows are whole in their box, of how many; and whether pointers or messages are cut. */
  const sight = () => page.evaluate(() => {
    const box = document.querySelector(".of-nodes .scroll").getBoundingClientRect();
    const rows = [...document.querySelectorAll(".of-nodes tbody tr")];
    const cut = [...document.querySelectorAll(".of-nodes td, .flights .text")].filter((it) => it.scrollWidth > it.clientWidth).length;
    return { seen: rows.filter((row) => row.getBoundingClientRect().bottom <= box.bottom + 1).length, rows: rows.length, cut };
  });
  await play("/ui/play/bulgannawar-vaidya?n=6&k=3&defect=holding-not-set");
  await page.locator(".printed .struck").first().waitFor();
  for (const node of [3, 4, 5]) {
    await act(node, "Request").click();
    await until("it waits", async () => /waits/.test(await row(node).innerText()));
  }
  const defect = await sight();
  assert.ok(defect.seen >= 4 && defect.cut === 0, JSON.stringify(defect));
  await play("/ui/story/thesis-fig-3?at=21");
  await settled(21);
  const story = await sight();
  assert.ok(story.seen >= 5 && story.cut === 0, JSON.stringify(story));
});

test("every setting acts, and every algorithm is drawn", { timeout: 4 * LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya");
  await page.getByLabel("nodes", { exact: true }).fill("13");
  await page.getByLabel("nodes", { exact: true }).press("Enter");
  await until("13 nodes", async () => (await page.locator("svg.graph .spot").count()) === 13);
  await page.getByLabel("tokens", { exact: true }).fill("3");
  await page.getByLabel("tokens", { exact: true }).press("Enter");
  await until("3 tokens", async () => (await page.locator("svg.graph .tokens .token").count()) === 3);
  await page.locator("select[name=option-choose]").selectOption("fair-share");
  await page.locator("select[name=links]").selectOption("any");
  await until("the address says so", () => /n=13&k=3&set=choose%3Afair-share&links=any/.test(page.url()));
  await page.getByRole("button", { name: "more, ", exact: false }).or(button("more")).first().click();
  await page.getByLabel("seed", { exact: true }).fill("42");
  await page.getByLabel("seed", { exact: true }).press("Enter");
  await until("the seed is in the address", () => /seed=42/.test(page.url()));
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Algorithm: bulgannawar-vaidya" }).click();
  await page.getByRole("searchbox", { name: "Find an algorithm" }).fill("maekawa");
  await fine();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/play/maekawa**");
  const catalogue = await (await fetch(`${stage.door}/player/catalogue`)).json();
  for (const { name } of catalogue) {
    await play(`/ui/play/${name}`);
    await button("Run on 20").click();
    await until(`${name} runs`, async () => (await at()) > 0);
    assert.equal(await page.locator(".of-nodes tbody tr").count(), await page.locator("svg.graph .spot").count());
    assert.ok((await page.locator(".rule-list li").count()) > 0, `${name} has rules`);
    assert.deepEqual(page.wrongs, [], name);
  }
  for (const size of ["forest?n=2&k=1&clients=2", "bulgannawar-vaidya?n=50&k=5", "rooms?n=8&groups=3"]) {
    await play(`/ui/play/${size}`);
    await button("Run on 20").click();
    await stands(20);
    await fine();
  }
});

test("every message is on the arc that is drawn for it", { timeout: LONG }, async () => {
  // A reply and the token are under way from 0 to 1: they bend to different sides when each is alone.
  const setting = { algorithm: "suzuki-kasami", nodes: 4, seed: 5 };
  const post = async (path, body) => (await fetch(`${stage.door}/player/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  let [steps, at] = [[], undefined];
  while (at === undefined && steps.length < 600) {
    ({ steps } = await post("autorun", { ...setting, steps, count: 60 }));
    const { states } = await post("play", { ...setting, steps, want: [[0, steps.length]] });
    at = states.find(({ flight }) => flight.some((one) => one.token !== null && flight.some((it) => it.token === null && it.from === one.from && it.to === one.to)))?.at;
  }
  const { run } = await post("share", { ...setting, steps });
  await play(`/ui/play/suzuki-kasami?at=${at}#r=${run}`);
  await settled(at);
  const away = await page.evaluate(() => {
    const routes = [...document.querySelectorAll("svg.graph .route path:first-child")];
    return [...document.querySelectorAll("svg.graph .message")].map((it) => {
      const [x, y] = it.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
      const near = (path) => Math.min(...Array.from({ length: 101 }, (_, share) => path.getPointAtLength((path.getTotalLength() * share) / 100)).map((point) => Math.hypot(point.x - x, point.y - y)));
      return Math.min(...routes.map(near));
    });
  });
  assert.ok(away.length > 1 && away.every((far) => far < 4), `pixels beside the arcs: ${away}`);
});

test("a story is told part by part, each at its end", { timeout: LONG }, async () => {
  const stories = await (await fetch(`${stage.door}/player/stories`)).json();
  const { captions, steps, preface } = stories.find(({ name }) => name === "thesis-fig-3");
  await play("/ui/story/thesis-fig-3");
  await page.getByLabel("Speed", { exact: true }).selectOption("32");
  assert.equal(await text(".caption-text"), preface);
  assert.ok(await button("The part before").isDisabled());
  const told = async (index) => {
    await settled(captions[index].to);
    assert.equal(await text(".caption-text"), captions[index].text);
    assert.equal(await text(".story-acts .quiet"), `${index + 1} of ${captions.length}`);
  };
  for (let index = 0; index < captions.length; index += 1) {
    await button("Go on").click();
    await told(index);
    // The words are of this very state.
    if (/^Node 0 leaves. Node 2 is inside/.test(captions[index].text)) await row(2).getByText("inside").waitFor();
  }
  assert.equal(captions.at(-1).to, steps.length);
  assert.ok(await button("Go on").isDisabled(), "the story is over");
  await fine();
  await button("The part before").click();
  await told(captions.length - 2);
  // Within a part the caption says at which step it is so.
  await button("To the start").click();
  await button("Step").click();
  await until("the way is told", async () => (await text(".caption-text")) === `By step ${captions[0].to}: ${captions[0].text}`);
});

test("an address of nowhere has a way on", { timeout: LONG }, async () => {
  await open("/ui/story/none-such");
  await page.getByText("There is no such story").waitFor();
  // A link that no longer fits says up to which step it does.
  const { run } = await (await fetch(`${stage.door}/player/share`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ algorithm: "naimi-trehel", nodes: 3, seed: 7, steps: ["req1", "1>0", "exit1"] }) })).json();
  await open(`/ui/play/naimi-trehel?n=3#r=${run}`);
  await page.getByText("This run cannot be replayed.").waitFor();
  await button("Open it up to step 2").click();
  await stands(2);
  assert.deepEqual(page.wrongs, []);
});

test("dark colours, a phone, a tablet and a projector", { timeout: 2 * LONG }, async () => {
  await play("/ui/play/bulgannawar-vaidya?seed=3", { dark: true });
  await button("Run on 20").click();
  await stands(20);
  await fine();
  const where = await until("the run is in the address", () => /#r=/.test(page.url()) && new URL(page.url()));
  const link = where.pathname + where.search + where.hash;
  await play(link, { width: 390, height: 844 });
  assert.ok(await fits(), "nothing is cut off");
  await fine();
  for (const tab of ["Flight", "Nodes", "Rules", "Holds", "Time"]) {
    await page.getByRole("tab", { name: new RegExp(`^${tab}`) }).click();
    await page.getByRole("tabpanel").waitFor();
    assert.equal(await page.getByRole("tabpanel").count(), 1, "one panel at a time");
    assert.ok(await fits(), `${tab} fits`);
    await fine();
  }
  // A tab is reached by keys, and so are its neighbours; a step is taken elsewhere.
  await page.getByRole("tab", { name: "Time" }).press("ArrowLeft");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tab-holds");
  await page.getByRole("tabpanel", { name: "Properties" }).waitFor();
  await page.keyboard.press("Home");
  await page.getByRole("tabpanel", { name: "Time" }).waitFor();
  await stands(20);
  // A finger chooses the speed, and lets the run go on.
  await page.getByLabel("Speed", { exact: true }).selectOption("32");
  await button("Run on 20").click();
  await stands(40);
  for (const it of await page.locator(".time-controls > *").all()) assert.ok((await it.boundingBox()).height >= 44, "a finger hits it");
  await button("Back").click();
  await stands(39);
  await button("Setting").click();
  await page.getByLabel("nodes", { exact: true }).waitFor();
  assert.ok(await fits(), "the setting fits");
  await play(link, { width: 900, height: 800 });
  await page.getByRole("tabpanel", { name: "Nodes" }).waitFor();
  assert.equal(await page.getByRole("tab").count(), 4, "time is beside the panels");
  await page.getByRole("tab", { name: /^Rules/ }).click();
  await page.locator(".of-rules").waitFor();
  assert.ok(await fits(), "a tablet fits");
  await fine();
  await play(link, { width: 1920, height: 1080 });
  await page.keyboard.press("p");
  await page.getByText("7 properties hold in this state").waitFor();
  await page.keyboard.press("PageUp");
  await fine();
  await page.keyboard.press("Escape");
  await page.locator(".settings").waitFor();
  // Without motion, what changed is marked instead.
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.locator("svg.graph .spot.changed").first().waitFor();
  assert.deepEqual(page.wrongs, []);
});
