// The addresses of the player: the setting in words, the run in the fragment; and stories.

import { fill, h } from "../dom.js";
import { settingQuery } from "../play-address.js";
import { address, replace } from "../router.js";
import { keep, kept } from "./kept.js";
import { Run } from "./model.js";
import { server } from "./source.js";
import { playView } from "./view.js";

const USUAL = "bulgannawar-vaidya";
/** A reader who steps fast does not make the server pack every run. */
const WRITE_AFTER = 500;
/** Longer addresses are cut by what they are sent with; Share offers the file. */
const LONGEST = 60_000;

/** The numbers of a query, and what they are in a setting. */
const SIZES = [["n", "nodes"], ["k", "tokens"], ["groups", "groups"], ["clients", "clients"], ["seed", "seed"]];

/** The setting that a query says in words. */
function readSetting(algorithm, query) {
  const number = (name) => (/^\d+$/.test(query.get(name) ?? "") ? Number(query.get(name)) : undefined);
  const options = Object.fromEntries(query.getAll("set").flatMap((text) => text.split(",")).filter((text) => text.includes(":")).map((text) => [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)]));
  const setting = { algorithm, nodes: number("n"), tokens: number("k"), groups: number("groups"), clients: number("clients"), seed: number("seed") ?? 1, options, defect: query.get("defect") || undefined, links: query.get("links") || undefined };
  return Object.fromEntries(Object.entries(setting).filter(([, value]) => value !== undefined));
}

/** The text of a fragment: deflated, base64url. Null if it is not. */
async function unpack(packed) {
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
    return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  } catch {
    return null;
  }
}

/** Keeps the address that of the run. Going back never undoes a step. */
function follow(run, path) {
  let timer = 0;
  let packed = { steps: null, text: "" };
  let left = false;
  const write = async () => {
    if (left || !run.setting) return;
    if (packed.steps !== run.steps || packed.setting !== run.setting) {
      const { steps, setting } = run;
      try {
        packed = { steps, setting, text: steps.length ? (await run.share()).run : "" };
      } catch {
        packed = { steps, setting, text: "" };
      }
    }
    if (left || packed.steps !== run.steps) return;
    const story = run.story && !run.branches.length ? path : null;
    const where = story ? address(story, { at: run.at ? String(run.at) : null }) : address(`play/${encodeURIComponent(run.setting.algorithm)}`, { ...settingQuery(run.setting), at: run.last ? String(run.at) : null });
    replace(`${where}${!story && packed.text && packed.text.length < LONGEST ? `#r=${packed.text}` : ""}`);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(write, run.playing ? 1500 : WRITE_AFTER);
  };
  run.addEventListener("change", soon);
  return () => {
    left = true;
    clearTimeout(timer);
    run.removeEventListener("change", soon);
  };
}

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The entry of the history names its run: Back and a reload find it again. */
function begin(root, query, title, path, load, id = history.state?.run ?? `${Date.now()} ${Math.random()}`) {
  history.replaceState({ ...history.state, run: id }, "");
  const run = new Run();
  const save = () => run.setting && !run.story && run.last + run.branches.length > 0 && keep(id, run);
  addEventListener("pagehide", save);
  const view = playView(root, run, { about: (it) => (document.title = `${it.story?.title ?? it.setting.algorithm} · Tokenwood`) });
  if (query.get("stage") === "1") view.player.stage(true);
  let unfollow = () => {};
  load(run, view).then(() => (unfollow = follow(run, path)));
  const leave = () => {
    removeEventListener("pagehide", save);
    save();
    unfollow();
    view.leave();
  };
  return { ...view, title, leave, update: null, ownKeys: true };
}

/** /ui/play/ALGORITHM?n=6&k=2&…#r=RUN */
export function playRoute(root, { match, query }) {
  const algorithm = decoded(match[1] || USUAL);
  const at = /^\d+$/.test(query.get("at") ?? "") ? Number(query.get("at")) : undefined;
  const packed = /(?:^#|&)r=([\w-]+)/.exec(location.hash)?.[1];
  // The bar leads to no run of its own: there the last one goes on.
  const had = history.state?.run ? kept(history.state.run) : match[1] || packed || query.has("n") || query.has("opened") ? null : kept(null);
  return begin(root, query, algorithm, `play/${algorithm}`, async (run, view) => {
    if (had) {
      run.branches = had.branches;
      return run.load(had.setting, had.steps, had.at);
    }
    const setting = readSetting(algorithm, query);
    // A run has its setting on a line of its own; steps alone go with the setting of the query.
    const text = packed ? await unpack(packed) : null;
    if (text !== null && !text.includes("\n")) await run.load(setting, text.split(/\s+/).filter(Boolean), at);
    else if (packed) await run.open(packed, at);
    else if (query.get("opened") === "1") await run.open(null, at);
    else if (await run.load(setting, [], 0)) {
      const odd = SIZES.filter(([name]) => query.get(name) && !/^\d+$/.test(query.get(name)));
      if (odd.length) view.player.tell(odd.map(([name, key]) => `${name}=${query.get(name)} in the address is no number: ${key} is ${run.setting[key]}.`).join(" "));
    }
    if (query.get("auto") === "1" && run.setting) run.play();
  }, had?.id);
}

/** /ui/story/NAME */
export function storyRoute(root, { match, query }) {
  const name = decoded(match[1]);
  return begin(root, query, name, `story/${match[1]}`, async (run, view) => {
    const stories = await server.stories().catch(() => []);
    const story = stories.find((it) => it.name === name);
    if (!story) {
      fill(view.element, h("section", { class: "state" }, h("h1", {}, "There is no such story"), h("p", {}, `No walk-through has the name ${name}.`), h("a", { class: "button", href: "/ui/gallery" }, "See all stories")));
      return;
    }
    if (await run.load(story.setting, story.steps, Number(query.get("at")) || 0)) {
      run.story = story;
      view.update();
    }
  });
}
