// A card of the gallery: the run as a small picture, what is printed, what is right, what it leads to.

import { h } from "../dom.js";
import { icon } from "../draw/icons.js";
import { playAddress } from "../play-address.js";
import { address, go } from "../router.js";
import { many } from "../words.js";
import { exhibitPath, leads } from "./data.js";
import { picture } from "./outline.js";

/** What a defect leads to. Red is for what is wrong; a run that only costs more violates nothing. */
export const leadsTag = (exhibit) => h("span", { class: exhibit.leads === "dearer" ? "leads plain" : "leads" }, leads(exhibit.leads));

/** Plays a run, from its start. */
export async function watchIt(exhibit, at = 0) {
  go(await playAddress(exhibit.setting, exhibit.steps, at));
}

/** The whole card leads to its exhibit; the pointer finds a short way to the run as well. */
export function card(exhibit) {
  const play = h("button", { class: "watch", tabindex: "-1", title: "Watch it fail", "aria-label": `Watch ${exhibit.defect} fail`, onclick: () => watchIt(exhibit).catch(() => go(address(exhibitPath(exhibit)))) }, icon("play", 14), "Watch it fail");
  return h(
    "li",
    { class: "card panel" },
    picture(exhibit),
    h("div", { class: "card-text" }, h("div", { class: "card-head" }, h("h3", {}, h("a", { href: address(exhibitPath(exhibit)) }, exhibit.defect)), leadsTag(exhibit), h("span", { class: "quiet" }, many(exhibit.steps.length, "step"))), h("p", { class: "quiet cut" }, `${exhibit.algorithm} · ${exhibit.where}`), sides(exhibit)),
    play,
  );
}

/** What is printed, and what is right. A mutant is printed nowhere. */
export const sides = (exhibit) => h("dl", { class: "sides" }, h("dt", { class: "red" }, exhibit.mutant ? "Defect" : "Printed"), h("dd", {}, exhibit.printed), h("dt", { class: "well" }, "Right"), h("dd", {}, exhibit.right));
