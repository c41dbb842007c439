// Pictures of the gallery, of exhibits, of comparisons and of opening a file, in every size and both themes, to be looked at:
// TOKENWOOD_PROGRAM=… TOKENWOOD_MODULES=… node looks-gallery.mjs FOLDER [WORD]. With a word, only those whose name has it.

import fs from "node:fs/promises";
import path from "node:path";

import { Stage, until } from "./stage.mjs";

const [folder, only = ""] = process.argv.slice(2);
if (!folder) throw new Error("name a folder for the pictures");
const SIZES = [[1280, 800], [900, 800], [390, 844], [1920, 1080]];

const bad = (page, name) => page.locator("#file").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from("this is no trace") });
const whole = (page) => page.locator(".versus").waitFor();
const curves = (page) => until("the curves are complete", async () => /standard error/.test(await page.locator(".progress").innerText()), 120_000);
const down = (page) => page.evaluate(() => document.getElementById("main").scrollBy(0, 10_000));
const end = async (page) => {
  await page.locator(".step-input").waitFor();
  await page.keyboard.press("End");
  await page.getByText(/violates/).first().waitFor();
};

/** Each view: its address, and what is done before the picture. */
const VIEWS = {
  gallery: ["/ui/gallery", (page) => page.locator(".card").first().waitFor()],
  "gallery-filtered": ["/ui/gallery?text=001&leads=at-most-k-inside", (page) => page.locator(".card").first().waitFor()],
  "gallery-nothing": ["/ui/gallery?q=nothing+like+this", (page) => page.getByText("No error is like that").waitFor()],
  exhibit: ["/ui/gallery/bulgannawar-vaidya/holding-not-set", (page) => page.locator(".told li").first().waitFor()],
  "exhibit-long": ["/ui/gallery/drs-gme/any-of-entry-stays", (page) => page.locator(".told li").first().waitFor()],
  "exhibit-mutant": ["/ui/gallery/helary/loan-keeps-father", (page) => page.locator(".told li").first().waitFor()],
  "exhibit-unknown": ["/ui/gallery/lacbt/no-such", (page) => page.getByText("There is no such error").waitFor()],
  story: ["/ui/story/thesis-fig-3", (page) => page.locator(".caption-text").waitFor()],
  compare: ["/ui/compare/bulgannawar-vaidya/raymond-k?n=9&k=3&rate=0.2&cs=2&seed=7&at=42", whole],
  "compare-curves": ["/ui/compare/bulgannawar-vaidya/raymond-k?n=9&k=3&rate=0.2&cs=2&seed=7&at=42", async (page) => {
    await whole(page);
    await curves(page);
    await down(page);
  }],
  "compare-groups": ["/ui/compare/drs-gme/rooms?n=6&groups=3&clients=2&entries=120&at=80", whole],
  "compare-many": ["/ui/compare/forest/lamport?n=30&k=4&entries=500&at=400", whole],
  "compare-refused": ["/ui/compare/bulgannawar-vaidya/raymond-k?n=2&k=8", (page) => page.locator(".compare-trouble:not(:empty)").first().waitFor()],
  open: ["/ui/open", (page) => page.locator("#file").waitFor({ state: "attached" })],
  "open-bad": ["/ui/open", async (page) => {
    await bad(page, "holidays.json");
    await page.getByText("cannot be opened").waitFor();
  }],
};

await fs.mkdir(folder, { recursive: true });
const stage = await Stage.play();
try {
  // The violation is the run of its exhibit, played to its end.
  const exhibits = await (await fetch(`${stage.door}/player/gallery`)).json();
  const { setting, steps } = exhibits.find(({ defect }) => defect === "holding-not-set");
  const shared = await (await fetch(`${stage.door}/player/share`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...setting, steps }) })).json();
  VIEWS.violation = [`/ui/play/bulgannawar-vaidya#r=${shared.run}`, end];
  VIEWS["violation-rules"] = [`/ui/play/bulgannawar-vaidya#r=${shared.run}`, async (page) => {
    await end(page);
    const tab = page.getByRole("tab", { name: "Rules" });
    if (await tab.isVisible()) await tab.click();
    const struck = page.locator(".struck, .rule del").locator("visible=true").first();
    if (await struck.count()) await struck.scrollIntoViewIfNeeded();
  }];
  await stage.browse();
  for (const [name, [where, ready]] of Object.entries(VIEWS).filter(([name]) => name.includes(only))) {
    for (const [width, height] of SIZES) {
      for (const dark of [false, true]) {
        const page = await stage.page(where, { width, height, dark });
        await ready(page);
        await page.waitForTimeout(400);
        const file = `${name}-${width}${dark ? "-dark" : ""}.png`;
        await page.screenshot({ path: path.join(folder, file) });
        for (const wrong of page.wrongs) console.log(`${file}: ${wrong}`);
        const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.getElementById("main").scrollWidth) - innerWidth);
        if (wide > 0) console.log(`${file}: ${wide} px are cut off`);
        await page.close();
      }
    }
  }
} finally {
  await stage.end();
}
