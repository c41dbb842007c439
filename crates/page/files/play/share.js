// Sharing a run: a link that holds all of it, a frame for another page, a trace file, and a page that needs no server.

import { announce, fill, h } from "../dom.js";
import { dialog } from "../frame.js";
import { playAddress } from "../play-address.js";
import { count, many } from "../words.js";
import { about, named, save, wayOut } from "./export.js";

/** Longer links get cut on their way: then a file is the better choice. */
const LONGEST = 8192;

/** A text to copy, and what copies it. */
function copied(title, words, value) {
  const text = h("textarea", { readonly: true, rows: 2, spellcheck: "false", "aria-label": title }, value);
  const button = h("button", { class: "button", "aria-label": `Copy: ${title}`, onclick: async () => {
    text.select();
    try {
      await navigator.clipboard.writeText(value);
      button.textContent = "Copied";
      announce(`${title} copied`);
    } catch {
      // Without the right to copy, the text is chosen: the reader copies it.
    }
  } }, "Copy");
  return wayOut(title, words, button, text);
}

/** Asks for a file of this run, and saves it. */
async function file(run, path, ending, told) {
  fill(told);
  const body = JSON.stringify({ ...run.setting, steps: run.steps, ...(path === "html" ? { at: run.at, title: run.story?.title ?? about(run) } : {}) });
  const response = await fetch(`/player/${path}`, { method: "POST", body, headers: { "Content-Type": "application/json" } }).catch(() => null);
  if (response?.ok) return save(named(run, `${run.last}.${ending}`), await response.blob());
  const why = await response?.json().catch(() => null);
  fill(told, h("p", { class: "wrong" }, why?.refusal?.message ?? "The server does not answer."));
}

export async function shareView(run) {
  if (!run.setting) return;
  const told = h("div", { role: "alert" });
  const links = h("div", {});
  const button = (words, path, ending) => h("button", { class: "button", onclick: () => file(run, path, ending, told) }, words);
  dialog(
    "Share this run",
    h("p", {}, `${about(run)}, ${many(run.last, "step")}; it opens at step ${run.at}.`),
    links,
    wayOut("Trace file", ["For ", h("code", {}, "tokenwood trace"), ", and to open here again."], button("Save trace", "trace", "json")),
    wayOut("Page without a server", "One file that shows and steps this run, also offline.", button("Save page", "html", "html")),
    told,
  );
  try {
    const url = new URL(await playAddress(run.setting, run.steps, run.at), location.href);
    for (const name of ["embed", "stage"]) url.searchParams.delete(name);
    const { href } = url;
    if (href.length > LONGEST) return void fill(links, wayOut("Link", `It would have ${count(href.length)} characters, too many for most programs. Save a file instead.`));
    url.searchParams.set("embed", "1");
    const frame = `<iframe src="${url.href.replaceAll("&", "&amp;")}" width="960" height="720" title="${about(run)}"></iframe>`;
    const alone = /^(localhost|127\.|\[::1\])/.test(location.hostname);
    const reach = h("p", {}, alone ? "This address works on this machine only. A reader elsewhere" : "The reader needs to reach this address. One who cannot", " pastes the link under Open a file at a ", h("code", {}, "tokenwood play"), " of their own; or send the trace file, or the page that needs no server.");
    fill(links, reach, copied("Link", `${count(href.length)} characters: setting, seed and every step. The server keeps nothing.`, href), copied("Frame", "For a page of yours: the run and its steps, without settings.", frame));
  } catch (problem) {
    fill(links, h("p", { class: "wrong" }, problem.message));
  }
}
