// What the live page says of what it sees, and what it did not see: grants, turns, times, silences, and forms by keyboard.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { LONG, Stage, sound, until } from "./stage.mjs";

let stage;
let page;

const row = (name) => page.locator(`.rows .row[data-name="${name}"]`);
const dialog = () => page.getByRole("dialog");

async function open(where, options) {
  await page?.close();
  page = await stage.page(where, options);
}

const acquire = (name, node = 0) => stage.ask("POST", `/v1/locks/${name}/acquire?ttl=300s&wait=30s`, node);
async function release(name, { grant }, node = 0) {
  const response = await fetch(`http://${stage.nodes[node].http}/v1/locks/${name}?grant=${encodeURIComponent(grant)}`, { method: "DELETE" });
  assert.equal(response.status, 204);
}

before(async () => {
  stage = await Stage.begin();
  await stage.browse();
}, { timeout: LONG });

after(() => stage?.end(), { timeout: LONG });

test("a holder from before the page keeps its bar when it releases", { timeout: LONG }, async () => {
  const bars = (kind = "") => page.locator(`.handoffs .held${kind}`).count();
  const first = await acquire("early");
  await open("/ui/name/early");
  await until("its bar is drawn", async () => (await bars(".now")) === 1);
  await release("early", first);
  await until("the bar has an end", async () => (await bars()) === 1 && (await bars(".now")) === 0);
  await acquire("early", 1);
  await until("the next one is beside it", async () => (await bars()) === 2 && (await bars(".now")) === 1);

  // Two readers at one node have the same slot and the same fence, and two bars.
  const readers = [stage.hold(0, "read", ["--shared"]), stage.hold(0, "read", ["--shared"])];
  await until("both read", async () => (await stage.ask("GET", "/v1/locks/read")).clients.length === 2);
  await open("/ui/name/read");
  await until("both are drawn", async () => (await bars(".now")) === 2);
  await stage.kill(readers[0]);
  await until("one has an end", async () => (await bars()) === 2 && (await bars(".now")) === 1);
  await stage.kill(readers[1]);

  // The same for a release that the overview saw, before this name was looked at.
  const other = await acquire("before");
  await open("/ui/live");
  await row("before").locator(".disc.in").waitFor();
  await release("before", other);
  await until("it is free", async () => (await row("before").locator(".disc.in").count()) === 0);
  await row("before").click();
  await until("what was held has a bar", async () => (await bars()) === 1);
  await sound(page);
});

test("the first grants of a new name count, and the head says since when", { timeout: LONG }, async () => {
  await open("/ui/live");
  await row("early").waitFor();
  for (let times = 0; times < 3; times += 1) await release("fresh", await acquire("fresh"));
  await acquire("fresh");
  await until("all four count", async () => (await row("fresh").locator(".grants").textContent().catch(() => "")) === "4 grants");
  const head = page.locator(".head .grants");
  assert.equal(await head.textContent(), "grants since the page looks");
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 600_000;
  });
  await until("ten minutes are over", async () => (await head.textContent()) === "grants, last 10 min");
});

test("who waits is listed by its turn, everywhere alike", { timeout: LONG }, async () => {
  const nodes = (clients) => clients.filter((it) => it.state !== "holds").map((it) => it.node).join();
  const inspected = async () => stage.ask("GET", "/v1/locks/turns");
  await acquire("turns");
  // A node that asked stays in the queue of the token if its client cancels: the next one there comes before older ones elsewhere.
  const cancelled = stage.hold(1, "turns");
  await until("node 1 is in the queue", async () => (await inspected()).tokens[0]?.next.join() === "1");
  const older = stage.hold(2, "turns");
  await until("node 2 waits behind it", async () => nodes((await inspected()).clients) === "1,2");
  await stage.kill(cancelled);
  await until("its client is gone", async () => nodes((await inspected()).clients) === "2");
  const younger = stage.hold(1, "turns");
  await until("both wait", async () => (await inspected()).clients.length === 3);
  assert.equal(nodes((await inspected()).clients), "1,2");
  assert.equal(nodes((await stage.ask("GET", "/v1/locks?nodes=all&name=turns")).locks[0].clients), "1,2");
  assert.equal(nodes(JSON.parse(await stage.says(["inspect", "turns", "--format", "json"])).waiters), "1,2");
  const listed = (await stage.says(["locks", "turns"])).split("\n").filter((line) => line.includes("waits"));
  assert.deepEqual(listed.map((line) => /waits .* ([12]) /.exec(line)?.[1]), ["1", "2"], listed.join("\n"));

  await open("/ui/live");
  await until("the row shows it", async () => (await row("turns").locator(".disc.waits").allInnerTexts()).join() === "1,2");
  await row("turns").click();
  const places = page.locator('section[aria-label="Queue"] tbody tr');
  await until("so does the queue", async () => (await places.locator(".disc").allInnerTexts()).join() === "1,2");
  assert.equal((await page.locator(".graph .bead-text").allTextContents()).join(), "1", "no token knows of node 2 yet");
  await Promise.all([older, younger].map((child) => stage.kill(child)));
});

test("the longest wait is that of the client that waits longest", { timeout: LONG }, async () => {
  await open("/ui/no/such/view");
  const waiter = (node, since_ms) => ({ node, session: 1, request: node, state: "waits", since_ms, left_ms: null, label: null, slot: null, fence: null, mode: null, group: null, groups: [], revoked: false });
  const lock = { name: "long", kind: "mutex", slots: 1, home: 0, clients: [waiter(2, 1000), waiter(1, 3_000_000)] };
  await page.route(/\/v1\/locks\?/, (route) => route.fulfill({ json: { locks: [lock], next: null, no_answer: [] } }));
  await page.goto(`${stage.door}/ui/live`);
  await until("it is told", async () => (await row("long").locator(".longest").innerText()) === "50 min");
  assert.equal((await row("long").locator(".disc.waits").allInnerTexts()).join(), "2,1");
});

test("times change their unit at every border, and never twice", { timeout: LONG }, async () => {
  await open("/ui/live");
  const said = (name, times) => page.evaluate(async ([name, times]) => {
    const words = await import("/ui/words.js");
    return times.map((ms) => words[name](ms));
  }, [name, times]);
  const borders = {
    0: "0 s", 0.0004: "0 s", 0.4: "400 µs", 0.9994: "999 µs", 0.9996: "1.0 ms", 9.94: "9.9 ms", 9.96: "10 ms", 99.4: "99 ms", 99.6: "0.1 s", 9949: "9.9 s", 9960: "10 s",
    59_400: "59 s", 59_499: "59 s", 59_500: "1 min 0 s", 59_990: "1 min 0 s", 60_000: "1 min 0 s", 60_600: "1 min 1 s", 119_400: "1 min 59 s", 119_600: "2 min 0 s",
    599_400: "9 min 59 s", 599_600: "10 min", 3_599_400: "59 min", 3_599_600: "1 h 0 min", 172_799_400: "47 h 59 min", 172_799_600: "2 days",
  };
  assert.deepEqual(await said("time", Object.keys(borders).map(Number)), Object.values(borders));
  assert.deepEqual(await said("lasted", [-5, 40, 60, 949, 1000, 59_460, 59_500]), ["0 s", "0 s", "0.1 s", "0.9 s", "1.0 s", "59 s", "1 min 0 s"]);
  assert.deepEqual(await said("chosen", [0, 2000, 10_000, 240_000, 720_000, 3_600_000]), ["0 s", "2 s", "10 s", "4 min", "12 min", "1 h"]);
});

test("a silent node is one line, and its events count as missed", { timeout: LONG }, async () => {
  const event = (kind, facts) => `event: ${kind}\ndata: ${JSON.stringify(facts)}\n\n`;
  const silent = event("node-silent", { node: 2 });
  let [body, times] = [silent + silent, 0];
  await open("/ui/no/such/view");
  await page.route("**/v1/watch*", (route) => {
    times += 1;
    return route.fulfill({ contentType: "text/event-stream", body });
  });
  await page.goto(`${stage.door}/ui/events`);
  const head = page.locator(".happens .bar p");
  const lines = page.getByText("Node 2 is silent");
  await until("the head says it", async () => (await head.innerText()) === "without node 2");
  await until("it is told again", () => times >= 3);
  assert.equal(await lines.count(), 1);
  body = event("node-watched", { node: 2 });
  await until("the node is heard", async () => (await head.innerText()) === "some missed");
  await sound(page);
  // Another node's silence is no line of this node.
  body = silent;
  await page.goto(`${stage.door}/ui/node/1`);
  times = 0;
  await until("it is told", () => times >= 2);
  assert.equal(await lines.count(), 0);
});

test("forms begin in their first field, and Enter sends them", { timeout: LONG }, async () => {
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.value);
  const press = (key) => page.keyboard.press(key);
  await open("/ui/live");
  await page.getByRole("button", { name: "Define…" }).press("Enter");
  assert.equal(await focused(), "define-name");
  await press("Enter");
  assert.ok(await dialog().isVisible(), "a name is needed");
  await page.keyboard.type("typed-name");
  await press("Enter");
  await row("typed-name").getByText("mutex, defined").waitFor();
  await dialog().waitFor({ state: "detached" });

  await acquire("typed-name");
  await open("/ui/name/typed-name");
  await page.getByRole("button", { name: "Resize…" }).press("Enter");
  assert.equal(await focused(), "slots");
  await page.keyboard.type("2");
  await press("Enter");
  await dialog().waitFor({ state: "detached" });
  await page.getByText("2 slots").first().waitFor();

  // What breaks exclusion takes more than Enter.
  await page.getByRole("button", { name: "Force release…" }).press("Enter");
  assert.equal(await focused(), "safe");
  await press("Enter");
  await press("ArrowDown");
  await press("Tab");
  assert.equal(await focused(), "typed");
  await press("Enter");
  assert.equal((await stage.ask("GET", "/v1/locks/typed-name")).clients.length, 1, "nothing is revoked yet");
  await page.keyboard.type("typed-name");
  await press("Enter");
  await page.getByText("Revoked. The slot is free").waitFor();

  // In the search, Enter goes to the first match, and Enter there opens it.
  await open("/ui/live");
  await row("typed-name").waitFor();
  await press("/");
  await page.keyboard.type("typed");
  await press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "typed-name");
  await press("Enter");
  await page.waitForURL("**/ui/name/typed-name");
});

test("of a node that gives no answer the page keeps what it said, and of the others what they say", { timeout: LONG }, async () => {
  const [here, there] = [await acquire("half-a"), await acquire("half-b", 2)];
  await open("/ui/live");
  for (const name of ["half-a", "half-b"]) await row(name).locator(".disc.in").waitFor();
  // From now on node 2 gives no answer.
  const silent = { node: 2, why: "no answer within 2 s" };
  await page.route(/\/v1\/locks\?nodes=all/, async (route) => {
    const answer = await (await route.fetch()).json();
    const locks = answer.locks.map((lock) => ({ ...lock, clients: lock.clients.filter((client) => client.node !== 2) }));
    await route.fulfill({ json: { ...answer, locks: locks.filter((lock) => lock.clients.length), no_answer: [silent] } });
  });
  await release("half-a", here);
  await until("what node 0 released is free", async () => (await row("half-a").locator(".disc.in").count()) === 0);
  assert.equal(await row("half-b").locator(".disc.in").count(), 1, "what node 2 said last is kept");
  await page.unroute(/\/v1\/locks\?nodes=all/);
  await release("half-b", there, 2);
  await until("it answers, and that is free as well", async () => (await row("half-b").locator(".disc.in").count()) === 0);
});
