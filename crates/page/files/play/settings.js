// The bar of the setting: algorithm, sizes, options, the text as printed or corrected, links. What is chosen is played at once.

import { fill, h } from "../dom.js";
import { icon } from "../draw/icons.js";

const KINDS = { mutex: "One inside", "k-mutex": "k inside", "group-mutex": "Groups inside" };
const LINKS = { fifo: "FIFO", any: "any order" };
const NUMBER = "a number";

const field = (words, control, more = "") => h("label", { class: `knob ${more}` }, h("span", {}, words), control);

export class Settings {
  /** `apply(setting, keepSteps, note)` plays another setting, and tells the note. */
  constructor(run, apply) {
    [this.run, this.apply] = [run, apply];
    this.fields = h("div", { class: "fields-row" });
    this.acts = h("div", { class: "acts-row" });
    this.element = h("section", { class: "settings", "aria-label": "Setting" }, this.fields, this.acts);
    this.printed = new Map();
    run.source.gallery?.().then((entries) => {
      for (const it of entries) this.printed.set(`${it.algorithm} ${it.defect}`, it);
      this.key = null;
      this.update();
      this.changed?.();
    }, () => {});
  }

  /** What the gallery says of the defect that is played. */
  get exhibit() {
    const { algorithm, defect } = this.run.setting ?? {};
    return defect ? this.printed.get(`${algorithm} ${defect}`) ?? null : null;
  }

  update() {
    const { run } = this;
    const { setting, catalogueEntry: entry } = run;
    const key = JSON.stringify([setting, entry?.name]);
    if (!setting || key === this.key) return;
    const had = this.fields.contains(document.activeElement) ? document.activeElement.name : null;
    this.key = key;
    const number = (name, words, most, least = 1) => field(words, this.#number(name, setting[name], least, most));
    // Where each node has one client, more tokens than nodes are refused.
    const few = entry?.kind === "k-mutex" && !entry.many_clients;
    const options = (entry?.options ?? []).map((option) => this.#option(option, setting));
    // The first choice is in sight as long as there is room; numbers and further ones are behind "more".
    const first = setting.defect ? -1 : options.findIndex(({ wanted }) => wanted);
    const shown = first >= 0 ? options.splice(first, 1) : [];
    const seed = field("seed", this.#number("seed", setting.seed, 0, Number.MAX_SAFE_INTEGER), "seed");
    const set = Object.keys(setting.options).length - shown.filter(({ name }) => name in setting.options).length;
    fill(
      this.fields,
      this.#algorithm(),
      number("nodes", "nodes", 100, 1),
      entry?.kind === "k-mutex" && number("tokens", "tokens", few ? setting.nodes : 100),
      entry?.kind === "group-mutex" && number("groups", "groups", 63),
      entry?.many_clients && number("clients", "clients", 16),
      shown.map(({ element }) => element),
      this.#defect(entry, setting),
      field("links", this.#select("links", setting.links, Object.entries(LINKS), (links) => this.#change({ links }, true))),
      this.#more([...options.map(({ element, help }) => h("div", {}, element, h("p", { class: "quiet small-text" }, help))), seed], set),
    );
    if (had) this.fields.querySelector(`[name="${CSS.escape(had)}"]`)?.focus();
  }

  #change(part, keep = false, note = null) {
    // A second change may come before the first is answered: it has both.
    const asked = (this.asked = { ...(this.asked ?? this.run.setting), ...part });
    this.apply(asked, keep, note).finally(() => this.asked === asked && (this.asked = null));
  }

  #number(name, value, least, most) {
    const input = h("input", { type: "number", name, min: least, max: most, value, inputmode: "numeric", onchange: () => {
      const to = Math.max(least, Math.min(most, Math.round(Number(input.value))));
      const { tokens } = this.run.setting;
      const follows = name === "nodes" && tokens > to && this.fields.querySelector('[name="tokens"]')?.max === String(value);
      if (Number.isFinite(to) && input.value !== "" && to !== value) this.#change({ [name]: to, ...(follows && { tokens: to }) }, name === "seed", follows && `There are ${to} tokens now: no more than nodes.`);
      else input.value = value;
    } });
    return input;
  }

  #select(name, value, choices, chosen, titles = {}) {
    const select = h("select", { name, onchange: () => chosen(select.value) }, choices.map(([choice, words]) => h("option", { value: choice, title: titles[choice], selected: choice === value }, words)));
    return select;
  }

  #option({ name, values, help }, setting) {
    const now = setting.options[name];
    const put = (value) => {
      const { [name]: _, ...rest } = setting.options;
      this.#change({ options: value === "" ? rest : { ...rest, [name]: value } });
    };
    const numeric = values.length === 1 && values[0] === NUMBER;
    let control;
    if (numeric) {
      const input = h("input", { type: "number", name: `option-${name}`, min: 0, value: now ?? "", placeholder: "default", onchange: () => put(input.value) });
      control = input;
    } else control = this.#select(`option-${name}`, now ?? values[0], values.map((value) => [value, value]), (value) => put(value === values[0] ? "" : value));
    const element = field(name, control);
    element.title = help;
    return { name, element, help, wanted: !numeric };
  }

  #defect(entry, setting) {
    if (!entry?.defects.length) return null;
    const titles = Object.fromEntries(entry.defects.map((name) => [name, this.printed.get(`${entry.name} ${name}`)?.printed ?? ""]));
    const select = this.#select("defect", setting.defect ?? "", [["", "corrected"], ...entry.defects.map((name) => [name, name])], (defect) => this.#change({ defect: defect || null }, true), titles);
    const element = field(setting.defect ? "as printed" : "text", select, setting.defect ? "defect" : "");
    element.title = setting.defect ? titles[setting.defect] : "Put an error back that a paper has, or that one might make";
    return element;
  }

  #popover(name, words, kind, content, opened) {
    const box = h("div", { class: `menu ${kind}`, popover: "auto", id: `menu-${kind}`, role: "dialog", "aria-label": name }, content);
    const button = h("button", { class: `button choice-button ${kind}`, name: `open-${kind}`, "aria-haspopup": "dialog", "aria-label": kind === "algorithms" ? name : null, title: name, onclick: () => {
      box.showPopover();
      const [at, size] = [button.getBoundingClientRect(), box.getBoundingClientRect()];
      box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
      box.style.top = `${Math.min(at.bottom + 4, Math.max(8, innerHeight - size.height - 8))}px`;
      opened?.();
    } }, h("span", {}, words), icon("down", 14));
    return { button, element: h("span", {}, button, box), box };
  }

  #more(fields, set) {
    return this.#popover("More of the setting", set > 0 ? `more, ${set} set` : "more", "more-settings", fields).element;
  }

  /** Opens the list of algorithms, as the key does. */
  openAlgorithms() {
    this.fields.querySelector('[name="open-algorithms"]')?.click();
  }

  #algorithm() {
    const { setting } = this.run;
    const list = h("div", { class: "algorithm-list" });
    const search = h("input", { type: "search", placeholder: "Find an algorithm", "aria-label": "Find an algorithm", autocomplete: "off", spellcheck: "false", oninput: () => draw(), onkeydown: (event) => {
      if (event.key === "Enter") list.querySelector("button")?.click();
      if (event.key === "ArrowDown") list.querySelector("button")?.focus();
    } });
    const made = this.#popover(`Algorithm: ${setting.algorithm}`, setting.algorithm, "algorithms", [h("div", { class: "search" }, icon("search"), search), list], () => {
      draw();
      search.focus();
    });
    const draw = async () => {
      const catalogue = await this.run.source.catalogue();
      const wanted = search.value.trim().toLowerCase();
      const found = catalogue.filter((entry) => !wanted || `${entry.name} ${entry.title} ${entry.source}`.toLowerCase().includes(wanted));
      fill(list, Object.entries(KINDS).map(([kind, words]) => {
        const some = found.filter((entry) => entry.kind === kind);
        return some.length ? h("div", { role: "group", "aria-label": words }, h("p", { class: "menu-title", "aria-hidden": "true" }, words), some.map((entry) => h("button", { class: entry.name === setting.algorithm ? "now" : "", onclick: () => (made.box.hidePopover(), this.apply({ algorithm: entry.name, seed: setting.seed }, false)) }, h("b", {}, entry.name), h("span", { class: "quiet" }, entry.title)))) : null;
      }), !found.length && h("p", { class: "quiet" }, "No algorithm has this in its name, title or source."));
    };
    return made.element;
  }
}
