// The gallery: every printed error, and errors that are easy to make, each with a run that shows it.

import { announce, fill, h, keyed, say } from "../dom.js";
import { wrong } from "../live/states.js";
import { server } from "../play/source.js";
import { address, go, open, replace } from "../router.js";
import { count, many } from "../words.js";
import { card } from "./card.js";
import { LEADS, TEXTS, group, leads } from "./data.js";
import { storyRow } from "./stories.js";

const matches = (it, words) => {
  const text = [it.defect, it.algorithm, it.where, it.printed, it.right, it.leads, leads(it.leads)].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
};

export function galleryView(root, { query }) {
  const state = { text: query.get("text") ?? "", leads: query.get("leads") ?? "", q: query.get("q") ?? "" };
  const about = h("p", { class: "quiet" });
  const shown = h("p", { class: "counted" });
  const groups = h("div", { class: "groups" });
  const texts = h("div", { class: "chips wrap", role: "group", "aria-label": "By text" });
  const properties = h("select", { id: "leads", onchange: () => change({ leads: properties.value }) });
  const find = h("input", { type: "search", class: "find-error", placeholder: "Find an error", "aria-label": "Find an error", value: state.q, oninput: () => change({ q: find.value }) });
  const cards = new Map();
  let exhibits = [];
  let gone = false;

  function change(facts) {
    Object.assign(state, facts);
    replace(address("gallery", state));
    draw();
    announce(shown.textContent);
  }

  function draw() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (it, but) => (but === "text" || !state.text || group(it) === state.text) && (but === "leads" || !state.leads || it.leads === state.leads) && matches(it, words);
    // A choice says how many it would show: by all filters but its own.
    const tally = (but, key) => count(exhibits.filter((it) => fits(it, but) && key(it)).length);
    keyed(texts, ["", ...Object.keys(TEXTS)], (key) => key, (key) => h("button", { class: "chip", onclick: () => change({ text: key }) }), (chip, key) => {
      say(chip, `${key || "All"} · ${tally("text", (it) => !key || group(it) === key)}`);
      chip.setAttribute("aria-pressed", key === state.text);
    });
    const used = Object.keys(LEADS).filter((key) => exhibits.some((it) => it.leads === key));
    fill(properties, ["", ...used].map((key) => h("option", { value: key, selected: key === state.leads }, `${key ? leads(key) : "anything"} · ${tally("leads", (it) => !key || it.leads === key)}`)));
    const found = exhibits.filter((it) => fits(it));
    say(shown, found.length === exhibits.length ? "" : `${count(found.length)} of ${count(exhibits.length)}`);
    const cardOf = (it) => cards.get(it) ?? cards.set(it, card(it)).get(it);
    fill(groups, Object.entries(TEXTS).map(([key, title]) => {
      const own = found.filter((it) => group(it) === key);
      return own.length > 0 && h("section", { "aria-label": title }, h("h2", { class: "group-title" }, /^\d/.test(key) && h("strong", {}, key), title, h("span", { class: "quiet" }, ` ${many(own.length, "error")}`)), h("ul", { class: "cards" }, own.map(cardOf)));
    }), found.length === 0 && h("div", { class: "state" }, h("h3", {}, "No error is like that"), h("p", {}, "Choose other filters, or another word."), h("button", { class: "button", onclick: () => go(address("gallery")) }, "Show all")));
  }

  root.append(h("div", { class: "view gallery" }, h("div", { class: "strip-top" }, h("div", {}, h("h1", {}, "Printed errors"), about), h("a", { class: "button", href: address("open") }, "Open a file…")), storyRow(), h("div", { class: "filters" }, texts, h("label", { class: "quiet" }, "leads to ", properties), find, shown), groups));
  groups.append(h("div", { class: "cards loading" }, Array.from({ length: 6 }, () => h("div", { class: "card panel" }))));
  server.gallery().then((all) => {
    if (gone) return;
    exhibits = all;
    const mutants = all.filter((it) => it.mutant).length;
    say(about, `${count(all.length - mutants)} places where a text, followed to the letter, goes wrong, and ${count(mutants)} errors that are easy to make. Each opens as a run that shows it, most of them as the shortest one.`);
    draw();
  }, (error) => gone || wrong(root, "The gallery is not there", error.message, h("button", { class: "button", onclick: open }, "Try again")));
  return { title: "Gallery", keys: [{ name: "/", words: "find an error", call: () => find.focus() }], leave: () => (gone = true) };
}
