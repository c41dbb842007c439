// Pictures of every view at every size, light and dark, to be looked at: node looks.mjs FOLDER [PART OF A NAME]…
//
// Each looks-*.mjs beside this file takes those of its views. TOKENWOOD_PROGRAM and TOKENWOOD_MODULES are those of the tests;
// TOKENWOOD_FILES shows the files of a folder instead of those in the program.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";

const here = new URL(".", import.meta.url);
const files = (await fs.readdir(here)).filter((name) => /^looks-.*\.mjs$/.test(name)).sort();
for (const file of files) {
  const child = spawn(process.execPath, [new URL(file, here).pathname, ...process.argv.slice(2)], { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}
