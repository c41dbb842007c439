// Sharing a run: a link that holds all of it, a frame for another page, a trace file, and a page that needs no server.

import { announce, fill, h } from "../dom.js";
import { dialog } from "../frame.js";
import { playAddress } from "../play-address.js";
import { count, many } from "../words.js";
import { about, save, wayOut } from "./export.js";
import { Refusal } from "./source.js";

/** Longer links get cut on their way: then a file is the better choice. */
const LONGEST = 8192;

function copier(text, words) {
  const button = h("button", { class: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      announce(`${words} copied`);
    } catch {
      // Without the right to copy, the text is chosen: the reader copies it.
      button.closest(".way-out").querySelector("textarea")?.select();
    }
  } }, "Copy");
  return button;
}

/** Asks for a file of this run, and saves it. */
async function file(run, path, name, told) {
  fill(told);
  try {
    const title = run.story?.title ?? about(run);
    const response = await fetch(`/player/${path}`, { method: "POST", body: JSON.stringify({ ...run.setting, steps: run.steps, ...(path === "html" ? { at: run.at, title } : {}) }), headers: { "Content-Type": "application/json" } }).catch(() => null);
    if (!response?.ok) throw new Refusal((await response?.json().catch(() => null))?.refusal ?? {});
    save(name, await response.blob());
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    fill(told, h("p", { class: "wrong" }, problem.message));
  }
}

export async function shareView(run) {
  if (!run.setting) return;
  const told = h("div", { role: "alert" });
  const link = h("textarea", { readonly: true, rows: 3, spellcheck: "false", "aria-label": "Link" });
  const frame = h("textarea", { readonly: true, rows: 3, spellcheck: "false", "aria-label": "Code of the frame" });
  const place = h("div", {}, h("p", { class: "quiet" }, "The link is being made."));
  const name = `${run.setting.algorithm.replace(/\W+/g, "-")}-${run.last}`;
  const button = (words, path, ending) => h("button", { class: "button", onclick: () => file(run, path, `${name}.${ending}`, told) }, words);
  dialog(
    "Share this run",
    h("p", {}, `${about(run)}, ${many(run.last, "step")}; it opens at step ${run.at}.`),
    place,
    wayOut("Trace file", h("span", {}, "The format of ", h("code", {}, "tokenwood check"), " and ", h("code", {}, "trace"), ". Open it here by dropping it on the page."), button("Save trace", "trace", "json")),
    wayOut("Page without a server", "One HTML file that shows and steps this run, anywhere and offline.", button("Save page", "html", "html")),
    told,
  );
  try {
    const to = await playAddress(run.setting, run.steps, run.at);
    const url = new URL(to, location.href);
    for (const key of ["embed", "stage"]) url.searchParams.delete(key);
    link.value = url.href;
    const framed = new URL(url);
    framed.searchParams.set("embed", "1");
    frame.value = `<iframe src="${framed.href.replaceAll("&", "&amp;")}" width="960" height="640" title="${about(run)}"></iframe>`;
    const size = link.value.length;
    const long = size > LONGEST;
    fill(
      place,
      wayOut("Link", long ? `${count(size)} characters: too long for many programs. Save the trace file instead.` : `${count(size)} characters. It holds setting, seed and every step: nothing is kept at the server.`, copier(() => link.value, "Link"), link),
      !long && wayOut("Frame", "For a page of yours. A frame shows the run and its steps, and offers no settings.", copier(() => frame.value, "Code"), frame),
    );
  } catch (problem) {
    fill(place, h("p", { class: "wrong" }, problem.message));
  }
}
