// The pictures of the documentation: a lively cluster of five nodes, as the page shows it.

import fs from "node:fs/promises";
import path from "node:path";

import { lively } from "./lively.mjs";
import { squeezed } from "./png.mjs";
import { playerPictures } from "./screenshots-player.mjs";
import { Stage, until } from "./stage.mjs";

const folder = process.argv[2];
await playerPictures(folder);
const stage = await Stage.begin({ nodes: 5, arguments: ["--log-level", "error"] });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let end;

try {
  end = await lively(stage);
  // Letters without coloured edges need fewer colours.
  await stage.browse(["--disable-lcd-text"]);
  const pages = [
    ["ui-overview.png", await stage.page("/ui/")],
    ["ui-name.png", await stage.page("/ui/name/gpu")],
    ["ui-phone-dark.png", await stage.page("/ui/", { width: 390, height: 844, dark: true })],
  ];
  // Long enough for charts and hand-offs.
  for (const [, page] of pages) await page.bringToFront();
  await pause(100_000);
  for (const [file, page] of pages) {
    await page.bringToFront();
    await until("the page is live", async () => (await page.locator(".talks").innerText()).includes("live"));
    await pause(3000);
    await fs.writeFile(path.join(folder, file), squeezed(await page.screenshot()));
  }
} finally {
  const ended = end?.();
  await stage.end();
  await ended;
}
