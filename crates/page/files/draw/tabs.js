// Tabs for small screens. On larger ones every panel is shown, and there are no tabs.

import { h, say } from "../dom.js";
import { mark } from "../router.js";

const small = matchMedia("(max-width: 699px)");

/** `panels` are [key, word, element]. The chosen one is in the address: the first, if that names none. */
export class Tabs {
  constructor(label, panels, chosen) {
    this.panels = panels;
    this.chosen = panels.some(([key]) => key === chosen) ? chosen : panels[0][0];
    this.tabs = panels.map(([key, word, panel]) => {
      panel.id = `panel-${key}`;
      return h("button", { role: "tab", id: `tab-${key}`, "aria-controls": panel.id, onclick: () => this.choose(key) }, word, " ", h("span", {}));
    });
    this.element = h("div", { class: "view-tabs", role: "tablist", "aria-label": label, onkeydown: (event) => this.#key(event) }, this.tabs);
    this.apply = () => this.#apply();
    small.addEventListener("change", this.apply);
    this.apply();
  }

  leave() {
    small.removeEventListener("change", this.apply);
  }

  /** How many there are behind a tab. */
  count(key, text) {
    say(this.tabs[this.panels.findIndex(([it]) => it === key)].lastChild, text);
  }

  choose(key) {
    this.chosen = key;
    mark("tab", key === this.panels[0][0] ? "" : key);
    this.apply();
  }

  #key(event) {
    const at = this.tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const index = (to + this.tabs.length) % this.tabs.length;
    this.choose(this.panels[index][0]);
    this.tabs[index].focus();
  }

  #apply() {
    this.element.hidden = !small.matches;
    this.panels.forEach(([key, , panel], at) => {
      const on = key === this.chosen;
      this.tabs[at].setAttribute("aria-selected", on);
      this.tabs[at].tabIndex = on ? 0 : -1;
      panel.hidden = small.matches && !on;
      if (small.matches) panel.setAttribute("role", "tabpanel");
      else panel.removeAttribute("role");
    });
  }
}
