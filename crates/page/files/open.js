// Opens a file: a trace of `check`, `simulate`, sockets or the player becomes a run that can be played; a recording of a cluster
// or of the swarm goes to its own viewer. A link can be pasted as well.

import { ask } from "./ask.js";
import { fill, h, say } from "./dom.js";
import { icon } from "./draw/icons.js";
import { sentence } from "./live/states.js";
import { playAddress } from "./play-address.js";
import { go } from "./router.js";
import { many } from "./words.js";

/** The viewer of recordings: `show(place, text, name)` shows one, and returns a view as routes do. */
const RECORDING = "./recording/view.js";
const IS_RECORDING = /^\s*\{[^{}]{0,200}"schema"\s*:\s*"tokenwood\.recording/;
/** Larger files are no traces, and would only stop the browser. */
const LARGEST = 64 << 20;

/** Opens the text of a file or of a link. Throws what is wrong with it. */
async function openText(text, name, root) {
  if (IS_RECORDING.test(text)) {
    let viewer;
    try {
      viewer = await import(RECORDING);
    } catch {
      throw new Error("this is a recording, and this page has no viewer for recordings");
    }
    fill(root);
    return viewer.show(root, text, name);
  }
  const link = /#(?:.*&)?r=([\w-]+)/.exec(text);
  const { steps, ...setting } = await ask("/player/open", { method: "POST", body: link ? link[1] : text.trim() });
  go(await playAddress(setting, steps, 0));
  return null;
}

export function openView(root) {
  let shown = null;
  const told = h("div", { role: "alert" });
  const busy = h("p", { class: "quiet", role: "status" });

  async function attempt(work, name) {
    fill(told);
    say(busy, `Opening ${name}…`);
    try {
      shown = await openText(await work(), name, root);
    } catch (error) {
      fill(told, h("p", { class: "wrong" }, h("strong", {}, `${name} cannot be opened. `), sentence(error.message)), fitting(error));
    }
    say(busy, "");
  }
  const fitting = (error) => (typeof error.refusal?.fits === "number" ? h("p", { class: "quiet" }, `${many(error.refusal.fits, "step fits", "steps fit")}.`) : null);
  const openFile = (file) => file && attempt(async () => {
    if (file.size > LARGEST) throw new Error("the file is larger than 64 MiB: it is no trace");
    return file.text();
  }, file.name);

  const input = h("input", { type: "file", id: "file", class: "hidden-text", onchange: () => openFile(input.files[0]).finally(() => (input.value = "")) });
  const link = h("input", { id: "link", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "…#r=ASgA1_9uYWlt…" });
  const drop = h("section", { class: "panel drop", ondragover: (event) => (event.preventDefault(), drop.classList.add("over")), ondragleave: () => drop.classList.remove("over"), ondrop: (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    openFile(event.dataTransfer.files[0]);
  } }, icon("open", 30), h("h2", {}, "Drop a file here"), h("p", { class: "quiet" }, "A trace of a run, or a recording"), h("label", { class: "button main", for: "file" }, "Choose a file"), input);
  const paste = h("form", { class: "paste", onsubmit: (event) => (event.preventDefault(), link.value.trim() && attempt(async () => link.value.trim(), "This link")) }, h("label", { for: "link" }, "Or paste a link"), h("div", {}, link, h("button", { class: "button" }, "Open")));
  root.append(h("div", { class: "view open-view" }, h("h1", {}, "Open a run"), drop, told, busy, paste, h("section", { class: "quiet sources" }, h("h2", {}, "Where such files come from"), h("p", {}, h("code", {}, "tokenwood check"), ", ", h("code", {}, "tokenwood simulate --trace FILE"), " and the player's ", h("em", {}, "Export"), " write traces. ", h("code", {}, "tokenwood trace FILE --open"), " opens one from the shell."), h("p", {}, "The file is read by this server, and kept nowhere."))));
  return { title: "Open a run", leave: () => shown?.leave?.(), update: (what) => shown?.update?.(what) };
}
