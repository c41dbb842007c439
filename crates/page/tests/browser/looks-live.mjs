// Pictures of the live views at every size, light and dark: node looks-live.mjs FOLDER [PART OF A NAME]…

import fs from "node:fs/promises";
import path from "node:path";

import { lively } from "./lively.mjs";
import { pretend, pretendNames, pretendSilent, refuse } from "./pretend.mjs";
import { Stage } from "./stage.mjs";

const [folder, ...parts] = process.argv.slice(2);
const SIZES = [[1280, 800], [390, 844], [1920, 1080], [900, 800]];
const SMALL = (page) => page.viewportSize().width < 700;
/** Long enough for charts and hand-offs. */
const LOOK = 25_000;
/** A browser has six connections to a node, and each page keeps one for events. */
const AT_ONCE = 4;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const press = (key) => (page) => page.keyboard.press(key);
const click = (name) => (page) => page.getByRole("button", { name, exact: true }).first().click();
const rows = (page) => page.locator(".rows .row").first().waitFor();
const holder = (page) => page.locator(".one-name .graph .token").first().waitFor({ state: "attached" });
const tab = (name) => async (page) => SMALL(page) && page.getByRole("tab", { name }).click();
const missed = "event: missed\ndata: {\"events\":312}\n\n";

/** name, address, what the page is made to see before it opens, what is done before each picture, and after all of them. */
const VIEWS = [
  { name: "overview", at: "/ui/live", ready: rows },
  { name: "overview-tables", at: "/ui/live", ready: rows, once: press("t") },
  { name: "overview-drawer", at: "/ui/live?events=1", ready: rows, sizes: [900] },
  { name: "overview-filtered", at: "/ui/live?q=deploy&waits=1", ready: () => null },
  { name: "overview-stage", at: "/ui/live?stage=1", ready: rows },
  { name: "overview-still", at: "/ui/live", ready: rows, once: press("Space") },
  { name: "overview-cursor", at: "/ui/live", ready: rows, once: async (page) => (await press("j")(page), press("j")(page)) },
  { name: "semaphore", at: "/ui/name/gpu", ready: holder, each: tab(/^Holders/) },
  { name: "semaphore-queue", at: "/ui/name/gpu?tab=queue", ready: holder, sizes: [390] },
  { name: "semaphore-where", at: "/ui/name/gpu?tab=where", ready: holder, sizes: [390] },
  { name: "semaphore-handoffs", at: "/ui/name/gpu?tab=handoffs", ready: holder, sizes: [390] },
  { name: "semaphore-tables", at: "/ui/name/gpu?tab=where", ready: holder, once: press("t") },
  { name: "semaphore-stage", at: "/ui/name/gpu?stage=1", ready: holder },
  { name: "mutex", at: "/ui/name/deploy%2Fapi", ready: holder },
  { name: "room", at: "/ui/name/model", ready: () => null },
  { name: "rwlock", at: "/ui/name/config", ready: () => null },
  { name: "rwlock-where", at: "/ui/name/config?tab=where", ready: () => null, sizes: [390] },
  { name: "free", at: "/ui/name/a%20name%20that%20no%20client%20uses", ready: () => null },
  { name: "node", at: "/ui/node/1", ready: rows },
  { name: "node-stage", at: "/ui/node/1?stage=1", ready: rows, sizes: [1920] },
  { name: "events", at: "/ui/events", ready: () => null },
  { name: "events-name", at: "/ui/events?name=gpu", ready: () => null },
  { name: "events-stage", at: "/ui/events?stage=1", ready: () => null, sizes: [1920] },
  { name: "missed", at: "/ui/events", see: (page) => page.route("**/v1/watch*", (route) => route.fulfill({ contentType: "text/event-stream", body: missed })), ready: (page) => page.getByText("312 events were missed").first().waitFor() },
  { name: "nowhere", at: "/ui/no/such/view", ready: () => null },
  { name: "loading", at: "/ui/live", see: (page) => page.route(/\/v1\/locks\?/, () => {}), ready: () => null },
  { name: "silent-node", at: "/ui/live", see: (page) => pretendSilent(page, 3), ready: rows },
  { name: "silent-node-name", at: "/ui/name/gpu", see: (page) => pretendSilent(page, 3), ready: holder },
  { name: "stale", at: "/ui/live", ready: rows, late: async (page) => (await page.route("**/v1/**", (route) => route.abort()), page.locator(".trouble").waitFor()) },
  { name: "stale-name", at: "/ui/name/gpu", ready: holder, late: async (page) => (await page.route("**/v1/**", (route) => route.abort()), page.locator(".trouble").waitFor()) },
  { name: "token", at: "/ui/live", see: (page) => refuse(page, "**/v1/**", 401, "this cluster asks for a token"), ready: (page) => page.locator("#token").waitFor() },
  { name: "may-not-read", at: "/ui/name/gpu", see: (page) => page.route("**/v1/locks/**", (route) => route.fulfill({ status: 403, json: { title: "Denied", detail: "you are 'watcher', and may not read 'gpu'", hint: "" } })), ready: (page) => page.locator(".one-name > .state").waitFor() },
  { name: "force", at: "/ui/name/gpu", ready: holder, once: click("Force release…") },
  { name: "force-now", at: "/ui/name/gpu", ready: holder, once: async (page) => (await click("Force release…")(page), page.getByText("(breaks exclusion").click()) },
  { name: "force-denied", at: "/ui/name/gpu", see: (page) => refuse(page, "**/force", 403, "you are 'watcher', and may not force the release of 'gpu'"), ready: holder, once: async (page) => (await click("Force release…")(page), await click("Force release")(page), page.getByText("You may look").waitFor()) },
  { name: "resize", at: "/ui/name/gpu", ready: holder, once: click("Resize…") },
  { name: "define", at: "/ui/live", ready: rows, once: async (page) => (await click("Define…")(page), page.getByLabel("Kind").selectOption("semaphore")) },
  { name: "keys", at: "/ui/live", ready: rows, once: press("?") },
  { name: "search", at: "/ui/live", ready: rows, once: async (page) => (await page.keyboard.press("/"), page.keyboard.type("deploy")) },
  { name: "thirteen", at: "/ui/live", see: (page) => pretend(page, 13), ready: rows },
  { name: "thirteen-name", at: "/ui/name/huge", see: (page) => pretend(page, 13), ready: holder },
  { name: "huge", at: "/ui/live", see: async (page) => (await pretend(page, 50), pretendNames(page)), ready: rows },
  { name: "huge-search", at: "/ui/live?q=render", see: async (page) => (await pretend(page, 50), pretendNames(page)), ready: rows },
  { name: "huge-node", at: "/ui/node/1", see: async (page) => (await pretend(page, 50), pretendNames(page)), ready: rows },
  { name: "huge-name", at: "/ui/name/huge", see: (page) => pretend(page, 50), ready: holder },
  { name: "huge-name-where", at: "/ui/name/huge?tab=where", see: (page) => pretend(page, 50), ready: holder, sizes: [390] },
];

const wanted = ({ name }) => parts.length === 0 || parts.some((part) => name.includes(part));

/** Opens a view as the reader would, then shows it at every size. */
async function look(stage, { name, at, see, ready, once, each, late, sizes }) {
  const page = await stage.page("/ui/no/such/view");
  await see?.(page);
  await page.goto(`${stage.door}${at}`);
  await ready(page);
  await once?.(page);
  return async () => {
    await page.bringToFront();
    await late?.(page);
    for (const [width, height] of SIZES.filter(([width]) => !sizes || sizes.includes(width))) {
      await page.setViewportSize({ width, height });
      await each?.(page);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await pause(350);
        const file = path.join(folder, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path: file }).catch((error) => console.error(`${file}: ${error.message}`));
      }
    }
    await page.close();
  };
}

await fs.mkdir(folder, { recursive: true });
const empty = { name: "empty", at: "/ui/live", ready: (page) => page.getByText("Nothing is held").waitFor() };
const stage = await Stage.begin({ nodes: 5, arguments: ["--log-level", "error"] });
let end;
try {
  await stage.browse();
  if (wanted(empty)) await (await look(stage, empty))();
  const views = VIEWS.filter(wanted);
  if (views.length) end = await lively(stage);
  for (let from = 0; from < views.length; from += AT_ONCE) {
    const pictures = [];
    for (const view of views.slice(from, from + AT_ONCE)) {
      try {
        pictures.push(await look(stage, view));
      } catch (error) {
        console.error(`${view.name}: ${error.message}`);
        process.exitCode = 1;
      }
    }
    await pause(from === 0 ? LOOK : 5000);
    for (const take of pictures) await take();
  }
} finally {
  const ended = end?.();
  await stage.end();
  await ended;
}
