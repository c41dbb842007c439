// Opens a file: a trace of `check`, `simulate`, sockets or the player becomes a run that can be played; a recording of a cluster
// or of the swarm goes to its own viewer. A link can be pasted as well.

import { ask } from "./ask.js";
import { fill, h, say } from "./dom.js";
import { icon } from "./draw/icons.js";
import { command, sentence, wrong } from "./live/states.js";
import { playAddress } from "./play-address.js";
import { server } from "./play/source.js";
import { go } from "./router.js";

/** The viewer of recordings: `show(place, text, name)` shows one, and returns a view as routes do. */
const RECORDING = "./recording/view.js";
const IS_RECORDING = /^\s*\{[^{}]{0,200}"schema"\s*:\s*"tokenwood\.recording/;
/** Larger files would only stop the browser. */
const LARGEST = 64 << 20;

/** Opens the text of a file or of a link. Throws what is wrong with it. */
async function openText(text, name, root) {
  if (IS_RECORDING.test(text)) {
    const viewer = await import(RECORDING).catch(() => {
      throw new Error("this is a recording, and this page has no viewer for recordings");
    });
    return viewer.show(root, text, name);
  }
  const link = /#(?:.*&)?r=([\w-]+)/.exec(text);
  const { steps, ...setting } = await server.open(link ? link[1] : text.trim());
  return go(await playAddress(setting, steps));
}

export function openView(root) {
  let shown = null;
  const told = h("p", { class: "wrong", role: "alert" });
  const busy = h("p", { class: "quiet", role: "status" });

  async function attempt(name, text) {
    fill(told);
    say(busy, `Opening ${name}…`);
    try {
      shown = await openText(await text(), name, root);
    } catch (error) {
      fill(told, h("strong", {}, `${name} cannot be opened. `), sentence(error.message));
    }
    say(busy, "");
  }
  const openFile = (file) => file && attempt(file.name, async () => {
    if (file.size > LARGEST) throw new Error("the file is larger than 64 MiB");
    return file.text();
  });
  const over = (event, is) => (event.preventDefault(), drop.classList.toggle("over", is));
  const input = h("input", { type: "file", id: "file", class: "hidden-text", onchange: () => openFile(input.files[0])?.then(() => (input.value = "")) });
  const link = h("input", { id: "link", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "…#r=ASgA1_9uYWlt…" });
  const drop = h("section", { class: "panel drop", ondragover: (event) => over(event, true), ondragleave: (event) => over(event, false), ondrop: (event) => (over(event, false), openFile(event.dataTransfer.files[0])) }, icon("open", 30), h("h2", {}, "Drop a file here"), h("p", {}, "A trace of a run, or a recording"), h("label", { class: "button main", for: "file" }, "Choose a file"), input);
  const paste = h("form", { class: "paste", onsubmit: (event) => (event.preventDefault(), link.value.trim() && attempt("This link", async () => link.value.trim())) }, h("label", { for: "link" }, "Or paste a link"), h("div", {}, link, h("button", { class: "button" }, "Open")));
  root.append(h("div", { class: "view open-view" }, h("h1", {}, "Open a run"), drop, told, busy, paste, h("p", { class: "quiet" }, h("code", {}, "tokenwood check"), ", ", h("code", {}, "tokenwood simulate --trace FILE"), " and the player write traces, ", h("code", {}, "tokenwood watch --record FILE"), " and ", h("code", {}, "tokenwood swarm --record FILE"), " write recordings. ", h("code", {}, "tokenwood trace FILE --open"), " opens both from the shell. The server reads the file, and keeps nothing of it.")));
  return {
    title: "Open a run",
    get keys() {
      return shown?.keys;
    },
    get ownKeys() {
      return shown?.ownKeys;
    },
    leave: () => shown?.leave?.(),
    update: (what) => shown?.update?.(what),
  };
}

/** /ui/recording: the recording that the program was started with. */
export function recordingView(root) {
  const leaving = new AbortController();
  const view = { title: "Recording", leave: () => leaving.abort("left") };
  ask("/player/opened", { as: String, signal: leaving.signal })
    .then((text) => openText(text, "", root))
    .then((shown) => (leaving.signal.aborted ? shown.leave() : Object.assign(view, shown)))
    .catch((problem) => leaving.signal.aborted || wrong(root, "There is no recording", sentence(problem.message), command("tokenwood trace FILE --open")));
  return view;
}
