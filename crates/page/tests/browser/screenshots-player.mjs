// The pictures of the player, the gallery and the comparison: the same run each time, decided by its seed.

import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { squeezed } from "./png.mjs";
import { Stage, until } from "./stage.mjs";

const PLAYED = "/ui/play/bulgannawar-vaidya?n=6&k=2&seed=7";

/** Goes on by itself, then to a step. */
async function played(page, turns, at) {
  for (let turn = 1; turn <= turns; turn += 1) {
    await page.getByRole("button", { name: "Run on 20" }).click();
    await until("twenty more steps", async () => (await page.locator("body").innerText()).includes(`of ${20 * turn}`));
  }
  const step = page.getByRole("spinbutton", { name: "Step" });
  await step.fill(String(at));
  await step.press("Enter");
}

export async function playerPictures(folder) {
  const stage = await Stage.play();
  try {
    await stage.browse(["--disable-lcd-text", "--force-prefers-reduced-motion"]);
    const save = async (file, page) => {
      // What is asked for has come, and nothing moves.
      await page.waitForLoadState("networkidle");
      await page.mouse.move(0, 0);
      await page.waitForTimeout(1000);
      await fs.writeFile(path.join(folder, file), squeezed(await page.screenshot()));
      await page.close();
    };
    const player = await stage.page(PLAYED);
    await played(player, 3, 48);
    await until("the address has the run", () => player.url().includes("at=48") && player.url().includes("#r="));
    const shared = player.url().slice(stage.door.length);
    await save("ui-player.png", player);
    const broken = await stage.page("/ui/gallery/bulgannawar-vaidya/holding-not-set");
    await broken.getByRole("button", { name: "Watch it fail" }).click();
    // Before the run is there, it has no end.
    await broken.getByText("of 4", { exact: true }).waitFor();
    await broken.keyboard.press("End");
    await broken.getByText("This violates").first().waitFor();
    await save("ui-violation.png", broken);
    // A run of the swarm that fails: the seed of the defect decides it.
    const file = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "tokenwood-recorded-")), "run.jsonl");
    await promisify(execFile)(process.env.TOKENWOOD_PROGRAM, ["swarm", "--defect", "node-clock-sleeps", "--record", file]).catch(() => {});
    const recording = await stage.page("/ui/open");
    await recording.setInputFiles("#file", file);
    await recording.waitForSelector(".recording");
    await fs.rm(path.dirname(file), { recursive: true });
    await save("ui-recording.png", recording);
    await save("ui-gallery.png", await stage.page("/ui/gallery"));
    await save("ui-compare.png", await stage.page("/ui/compare/bulgannawar-vaidya/raymond-k?n=9&k=3&rate=0.2&cs=2&seed=7&at=42"));
    // A link shows the same run elsewhere.
    await save("ui-player-phone-dark.png", await stage.page(shared, { width: 390, height: 844, dark: true }));
  } finally {
    await stage.end();
  }
}
