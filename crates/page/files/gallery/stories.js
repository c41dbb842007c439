// The walk-throughs of the papers, as a row of cards. Each leads to the player, which tells the story.

import { h } from "../dom.js";
import { server } from "../play/source.js";
import { address } from "../router.js";
import { many } from "../words.js";

/** Where a story stands in its text. */
const PLACES = { "tree-case-study": "case study", "rooms-table-1": "Table I" };
const place = ({ name }) => PLACES[name] ?? name.replace("thesis-fig-", "figure ");

const story = (it) => h("li", { class: "story panel" }, h("p", { class: "quiet" }, `${it.text}, ${place(it)} · ${many(it.steps.length, "step")}`), h("h3", {}, h("a", { href: address(`story/${it.name}`) }, it.title)), h("p", { class: "quiet cut" }, it.setting.algorithm));

/** The row, hidden until the server has answered. The gallery is complete without it. */
export function storyRow() {
  const items = h("ul", { class: "stories" });
  const element = h("section", { "aria-labelledby": "stories-title", hidden: true }, h("h2", { id: "stories-title" }, "Stories from the papers"), items);
  server.stories().then((stories) => {
    items.append(...stories.map(story));
    element.hidden = false;
  }, () => {});
  return element;
}
