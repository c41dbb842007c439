// A card of the gallery: the run as a small picture, what is printed, what is right, what it leads to.

import { h } from "../dom.js";
import { icon } from "../draw/icons.js";
import { playAddress } from "../play-address.js";
import { address, go } from "../router.js";
import { many } from "../words.js";
import { exhibitPath, leads } from "./data.js";
import { picture } from "./outline.js";

/** Red is for what is wrong; a run that only costs more violates nothing. */
export const leadsTag = (exhibit) => h("span", { class: exhibit.leads === "dearer" ? "leads plain" : "leads" }, leads(exhibit.leads));

/** What is printed, and what is right. A mutant is printed nowhere. */
export const sides = ({ mutant, printed, right }) => h("dl", { class: "sides" }, h("dt", { class: "red" }, mutant ? "Defect" : "Printed"), h("dd", {}, printed), h("dt", { class: "well" }, "Right"), h("dd", {}, right));

/** Plays a run, from its start. */
export const watchIt = async ({ setting, steps }) => go(await playAddress(setting, steps));

/** The whole card leads to its exhibit; the pointer finds a short way to the run as well. */
export function card(exhibit) {
  const to = address(exhibitPath(exhibit));
  return h(
    "li",
    { class: "card panel" },
    picture(exhibit),
    h("div", { class: "card-text" }, h("div", { class: "card-head" }, h("h3", {}, h("a", { href: to }, exhibit.defect)), leadsTag(exhibit), h("span", { class: "quiet" }, many(exhibit.steps.length, "step"))), h("p", { class: "quiet cut" }, `${exhibit.algorithm} · ${exhibit.where}`), sides(exhibit)),
    h("button", { class: "watch", tabindex: "-1", onclick: () => watchIt(exhibit).catch(() => go(to)) }, icon("play", 14), "Watch it fail"),
  );
}
