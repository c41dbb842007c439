// Every view of the player at every size, light and dark, to be looked at: `node looks-player.mjs FOLDER [NAME…]`, with
// TOKENWOOD_PROGRAM and TOKENWOOD_MODULES as the tests have them. A name chooses the views that begin with it.

import fs from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { Stage, until } from "./stage.mjs";

const [folder, ...wanted] = process.argv.slice(2);
const SIZES = [[1280, 800], [390, 844], [1920, 1080], [900, 800]];
const PHONE = [[390, 844]];

const stage = await Stage.play();

async function ask(path, body) {
  const response = await fetch(`${stage.door}/player/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

const link = async (setting, steps, at = steps.length, more = "") => `/ui/play/${setting.algorithm}?at=${at}${more}#r=${(await ask("share", { ...setting, steps })).run}`;

/** The link of a run that goes on by itself. */
async function ran(setting, count, at = count, more = "") {
  let steps = [];
  while (steps.length < count) {
    const had = steps.length;
    ({ steps } = await ask("autorun", { ...setting, steps, count: Math.min(count - had, 200) }));
    if (steps.length === had) break;
  }
  return link(setting, steps, Math.min(at, steps.length), more);
}

/** A run with a loss, a duplicate, a crash and a restart. */
async function faulty(setting) {
  let steps = [];
  for (const kind of ["lose", "duplicate", "crash", "lose", "restart", "duplicate", "crash"]) {
    ({ steps } = await ask("autorun", { ...setting, steps, count: 7 }));
    const { states } = await ask("play", { ...setting, steps, want: [steps.length] });
    const act = states[0].can.find((it) => it.kind === kind);
    if (act) steps.push(act.step);
  }
  ({ steps } = await ask("autorun", { ...setting, steps, count: 8 }));
  return link(setting, steps, steps.length - 12);
}

const THESIS = { algorithm: "bulgannawar-vaidya", nodes: 6, tokens: 2, seed: 7 };
const key = (name) => async (page) => page.keyboard.press(name);
const tab = (name) => async (page) => page.getByRole("tab", { name: new RegExp(`^${name}`) }).click();
const press = (name) => async (page) => page.getByRole("button", { name, exact: true }).first().click();

/** [name, address, what is done then, sizes] */
const VIEWS = [
  ["start", () => "/ui/play"],
  ["thesis", () => ran(THESIS, 61, 48)],
  ["tree", () => ran({ algorithm: "raymond-tree", nodes: 7, seed: 3 }, 40, 24)],
  ["groups", () => ran({ algorithm: "drs-gme", nodes: 5, groups: 3, seed: 3 }, 40, 25)],
  ["rooms", () => ran({ algorithm: "rooms", nodes: 6, groups: 3, clients: 2, seed: 3 }, 60, 40)],
  ["quorum", () => ran({ algorithm: "maekawa", nodes: 7, seed: 3 }, 40, 15)],
  ["clients", () => ran({ algorithm: "forest", nodes: 5, tokens: 3, clients: 3, seed: 3 }, 60, 40)],
  ["many", () => ran({ algorithm: "bulgannawar-vaidya", nodes: 50, tokens: 2, seed: 3 }, 450, 300)],
  ["thirteen", () => ran({ algorithm: "suzuki-kasami", nodes: 13, seed: 3 }, 60, 40)],
  ["long", () => ran(THESIS, 2500, 1200), async (page) => {
    for (let zoom = 0; zoom < 6; zoom += 1) await page.keyboard.press("[");
  }],
  ["faults", () => faulty({ algorithm: "drs-gme", nodes: 5, groups: 2, seed: 3 })],
  ["faults-one", () => faulty({ algorithm: "suzuki-kasami", nodes: 4, seed: 5 })],
  ["violation", () => link({ algorithm: "bulgannawar-vaidya", nodes: 4, tokens: 1, defect: "holding-not-set", seed: 7 }, ["req0", "req1", "1>0", "0>1"])],
  ["violated-late", async () => link({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 1, defect: "holding-not-set", seed: 7 }, ["req0", "req1", "1>0", "0>1"], 2)],
  ["chosen", () => ran(THESIS, 61, 48), key("0")],
  ["find", () => ran(THESIS, 20), key("f")],
  ["finding", () => "/ui/play/bulgannawar-vaidya?n=6&k=2", async (page) => {
    await page.keyboard.press("f");
    await page.getByRole("dialog").getByRole("button", { name: "Find", exact: true }).click();
    await page.waitForTimeout(1500);
  }],
  ["found", () => "/ui/play/bulgannawar-vaidya?n=4&k=1&defect=holding-not-set", async (page) => {
    await page.keyboard.press("f");
    await page.getByRole("dialog").getByRole("button", { name: "Find", exact: true }).click();
    await page.getByText(/^Found in/).first().waitFor();
  }],
  ["algorithms", () => "/ui/play", key("/"), [[1280, 800], [1920, 1080], [900, 800]]],
  ["more", () => "/ui/play/makki", press("more"), [[1280, 800], [1920, 1080], [900, 800]]],
  ["share", () => ran(THESIS, 40), key("s")],
  ["export", () => ran(THESIS, 40), key("x")],
  ["branches", () => ran(THESIS, 40, 30), async (page) => {
    await page.keyboard.press("0");
    await page.keyboard.press("C");
    await until("it branched", async () => / of 31/.test(await page.locator(".scrubber").last().getAttribute("aria-valuetext")));
    await page.keyboard.press("b");
  }],
  ["menu", () => ran(THESIS, 40, 30), async (page) => {
    await page.locator("svg.graph .message").first().click({ button: "right" });
  }],
  ["table", () => faulty({ algorithm: "drs-gme", nodes: 5, groups: 2, seed: 3 }), async (page) => {
    await page.locator(".scrubber:visible").focus();
    await page.keyboard.press("t");
  }],
  ["filter", () => ran(THESIS, 61, 48), async (page) => page.locator(".run-time summary, .deck summary").locator("visible=true").click()],
  ["keys", () => ran(THESIS, 40), key("?")],
  ["story", () => "/ui/story/thesis-fig-3?at=5"],
  ["misfit", () => link({ algorithm: "naimi-trehel", nodes: 3, seed: 7 }, ["req1", "1>0", "exit1"])],
  ["nothing", () => "/ui/play/no-such-algorithm"],
  ["stage", () => ran(THESIS, 61, 48, "&stage=1")],
  ["stage-violation", () => link({ algorithm: "bulgannawar-vaidya", nodes: 3, tokens: 1, defect: "holding-not-set", seed: 7 }, ["req0", "req1", "1>0", "0>1"], 4, "&stage=1")],
  ["embed", () => ran(THESIS, 61, 48, "&embed=1")],
  ["offline", async () => {
    const { steps } = await ask("autorun", { ...THESIS, steps: [], count: 61 });
    const response = await fetch(`${stage.door}/player/html`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...THESIS, steps, at: 48 }) });
    const file = path.join(folder, "offline.html");
    await fs.writeFile(file, await response.text());
    return pathToFileURL(file).href;
  }],
  ...["Flight", "Nodes", "Rules", "Holds"].map((name) => [`tab-${name.toLowerCase()}`, () => ran(THESIS, 61, 48), tab(name), [...PHONE, [900, 800]]]),
  ["tab-time", () => ran(THESIS, 61, 48), async (page) => page.locator(".time-and-transport").evaluate((it) => it.scrollIntoView({ block: "end" })), PHONE],
  ["setting", () => ran(THESIS, 61, 48), press("Setting"), PHONE],
];

await fs.mkdir(folder, { recursive: true });
try {
  await stage.browse(["--disable-lcd-text", "--force-prefers-reduced-motion"]);
  stage.context.setDefaultTimeout(10_000);
  for (const [name, where, act, sizes = SIZES] of VIEWS) {
    if (wanted.length && !wanted.some((it) => name.startsWith(it))) continue;
    const address = await where();
    for (const [width, height] of sizes) {
      const page = await stage.page(address.startsWith("file:") ? "/ui/icon.svg" : address, { width, height });
      if (address.startsWith("file:")) {
        // What the browser says of the icon as a page of its own says nothing of the file.
        page.wrongs.length = 0;
        await page.goto(address);
      }
      await page.waitForLoadState("networkidle");
      await act?.(page).catch((error) => console.log(`${name} at ${width}: ${error.message.split("\n")[0]}`));
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.waitForTimeout(name === "long" ? 1500 : 350);
        await page.screenshot({ path: path.join(folder, `${name}-${width}-${theme}.png`) });
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) console.log(`${name} at ${width}: wider than the window`);
      const wrongs = page.wrongs.filter((it) => !/request: (file|blob):/.test(it));
      if (wrongs.length) console.log(`${name} at ${width}: ${wrongs.join("\n")}`);
      await page.close();
    }
  }
} finally {
  await stage.end();
}
