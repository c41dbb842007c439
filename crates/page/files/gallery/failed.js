// An error inside a view: what happened, and one way on.

import { h } from "../dom.js";
import { sentence } from "../live/states.js";
import { open } from "../router.js";
import { fill } from "../dom.js";

export function failed(place, title, error, way = h("button", { class: "button", onclick: open }, "Try again")) {
  fill(place, h("div", { class: "state", role: "alert" }, h("span", { class: "bang", "aria-hidden": "true" }, "!"), h("h2", {}, title), h("p", {}, sentence(error.message)), way));
}
