// Tabs for small screens. On larger ones every panel is shown, and there are no tabs.

import { h, say } from "../dom.js";
import { mark } from "../router.js";

export const small = matchMedia("(max-width: 699px)");

/** One panel at a time: the chosen one is in the address. */
const hide = (panels, key, tabbed) => panels.forEach((it) => (it.panel.hidden = tabbed && it.key !== key));

export class Tabs {
  #leave = new AbortController();

  /** `panels` are {key, word, panel, when}: `when` tells at which sizes it is a tab. `show` is told the panels, the key of the one to see, and whether there are tabs at this size. A key that is no tab is the first one, or `otherwise`. */
  constructor(label, panels, { chosen = null, otherwise = panels[0].key, show = hide, choose = (key) => mark("tab", key === otherwise ? "" : key) } = {}) {
    [this.panels, this.chosen, this.otherwise, this.show, this.noted] = [panels, chosen, otherwise, show, choose];
    this.tabs = panels.map(({ key, word, panel }) => {
      panel.id = `panel-${key}`;
      return h("button", { role: "tab", id: `tab-${key}`, "aria-controls": panel.id, onclick: () => this.choose(key) }, h("span", {}, word), " ", h("span", {}));
    });
    this.element = h("div", { class: "view-tabs", role: "tablist", "aria-label": label, onkeydown: (event) => this.#key(event) }, this.tabs);
    for (const when of new Set(panels.map((it) => it.when ?? small))) when.addEventListener("change", () => this.apply(), { signal: this.#leave.signal });
  }

  leave() {
    this.#leave.abort();
  }

  /** What a tab says: its word, and how many there are behind it. */
  say(key, count, word = this.panels.find((it) => it.key === key).word) {
    const [name, number] = this.tabs[this.panels.findIndex((it) => it.key === key)].children;
    say(name, word);
    say(number, count);
  }

  choose(key) {
    this.chosen = key;
    this.noted(key);
    this.apply();
  }

  #key(event) {
    const tabs = this.tabs.filter((tab) => !tab.hidden);
    const at = tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = tabs[(to + tabs.length) % tabs.length];
    this.choose(this.panels[this.tabs.indexOf(tab)].key);
    tab.focus();
  }

  /** Shows what is a tab at this size. To be called once the panels are in their place. */
  apply() {
    const here = this.panels.filter((it) => (it.when ?? small).matches);
    const key = (here.find((it) => it.key === this.chosen) ?? here.find((it) => it.key === this.otherwise) ?? here[0])?.key;
    this.element.hidden = !here.length;
    this.panels.forEach((it, at) => {
      const on = it.key === key;
      const is = here.includes(it);
      this.tabs[at].hidden = !is;
      this.tabs[at].setAttribute("aria-selected", on);
      this.tabs[at].tabIndex = on ? 0 : -1;
      if (is) it.panel.setAttribute("role", "tabpanel");
      else it.panel.removeAttribute("role");
    });
    this.show(this.panels, key, here.length > 0);
  }
}
