// The walk-throughs of the papers, as a row of cards. Each leads to the player, which tells the story.

import { h } from "../dom.js";
import { address } from "../router.js";
import { many } from "../words.js";
import { list } from "./data.js";

/** Where a story stands in its text. */
const PLACES = { "thesis-fig-1": "figure 1", "thesis-fig-3": "figure 3", "thesis-fig-4": "figure 4", "thesis-fig-5": "figure 5", "thesis-fig-6": "figure 6", "tree-case-study": "case study", "rooms-table-1": "Table I" };

const story = (it) => h("li", { class: "story panel" }, h("p", { class: "quiet" }, `${[it.text, PLACES[it.name]].filter(Boolean).join(", ")} · ${many(it.steps.length, "step")}`), h("h3", {}, h("a", { href: address(`story/${encodeURIComponent(it.name)}`) }, it.title)), h("p", { class: "quiet cut" }, it.setting.algorithm));

/** The row; empty until the server has answered. The gallery is complete without it. */
export function storyRow() {
  const items = h("ul", { class: "stories" });
  const element = h("section", { class: "story-row", "aria-labelledby": "stories-title", hidden: true }, h("h2", { id: "stories-title" }, "Stories from the papers"), items);
  list("/player/stories").then((stories) => {
    items.append(...stories.map(story));
    element.hidden = stories.length === 0;
  }, () => {});
  return element;
}
