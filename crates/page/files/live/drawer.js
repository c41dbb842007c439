// Events in a drawer, on screens too narrow for a column of them. Wider ones show the column, smaller ones have a view of events.

import { h, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { mark } from "../router.js";
import { count } from "../words.js";
import { live } from "./model.js";

const wide = matchMedia("(min-width: 1100px)");
const latest = () => live.events.at(-1)?.number ?? 0;

/** The last event that the reader saw, in any drawer. */
let seen = 0;

/** `column` is what comes in below the names; whether it is open is in the address. */
export class Drawer {
  constructor(column, query) {
    this.column = column;
    column.id = "drawer";
    this.news = h("span", { class: "news" });
    this.button = h("button", { class: "button to-drawer", "aria-controls": column.id, onclick: () => this.toggle(!this.open) }, "Events ", this.news);
    this.shut = h("button", { class: "round shut-drawer", "aria-label": "Close events", title: "Close (Esc)", onclick: () => this.toggle(false) }, icon("close"));
    column.querySelector(".happens .bar").append(this.shut);
    // Not a single key, which can be switched off: what opens has to close.
    this.key = (event) => {
      if (event.key !== "Escape" || !this.open || this.button.offsetParent === null || document.querySelector("dialog[open]") || event.target.closest?.("input, select")) return;
      event.stopPropagation();
      this.toggle(false);
    };
    document.addEventListener("keydown", this.key, true);
    this.#set(query.get("events") === "1");
  }

  leave() {
    document.removeEventListener("keydown", this.key, true);
  }

  /** The focus goes with it: in, and back to the button. */
  toggle(open) {
    this.#set(open);
    mark("events", open ? "1" : "");
    (open ? this.shut : this.button).focus();
  }

  #set(open) {
    this.open = open;
    this.column.classList.toggle("open", open);
    this.button.setAttribute("aria-expanded", open);
    this.update();
  }

  update() {
    if (this.open || wide.matches) seen = latest();
    const fresh = latest() - seen;
    say(this.news, fresh ? `${count(fresh)} new` : "");
  }
}
