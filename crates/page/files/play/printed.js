// What is printed and what is right, for a defect that is played; and the captions of a story.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";

const aside = (words) => h("span", { class: "hidden-text" }, words);

/** Without the words that both begin or end with, so that only what differs is struck. */
function apart(printed, right) {
  const [a, b] = [printed, right].map((text) => text.split(" "));
  const both = (at) => a.length > 1 && b.length > 1 && a.at(at) === b.at(at);
  let [head, tail] = ["", ""];
  while (both(0)) head += `${(a.shift(), b.shift())} `;
  while (both(-1)) tail = ` ${(a.pop(), b.pop())}${tail}`;
  return [head, a.join(" "), b.join(" "), tail];
}

/** The text of a rule, or of one of its parts, with the words of a defect struck and the right ones beside them. */
export function struck(text, changes = [], part = null) {
  const own = changes.filter((it) => it.part === part && text.includes(it.right)).sort((a, b) => text.indexOf(a.right) - text.indexOf(b.right));
  let rest = text;
  const before = own.flatMap(({ printed, right }) => {
    const [head] = rest.split(right, 1);
    rest = rest.slice(head.length + right.length);
    const [same, wrong, instead, end] = apart(printed, right);
    return [head + same, h("del", {}, aside(" wrong: "), wrong), " ", h("ins", {}, aside(" right: "), instead, aside(" ")), end];
  });
  return [...before, rest];
}

/** The sentences of a text that have such words. */
function sentencesWith(text, changes) {
  const places = changes.map(({ right }) => [text.indexOf(right), right.length]).filter(([at]) => at >= 0);
  const from = Math.max(0, text.lastIndexOf(". ", Math.min(...places.map(([at]) => at))) + 1);
  const last = Math.max(...places.map(([at, length]) => at + length));
  const to = text.indexOf(". ", last - 1) + 1 || text.length;
  return `${from ? "…" : ""}${text.slice(from, to)}${to < text.length ? "\u00a0…" : ""}`;
}

/** The rules that a defect changes: whole, or the sentences that matter. */
export const changedRules = (rules, whole) => rules.map(({ number, title, text, parts, changes }) => {
  const places = [...new Set(changes.map(({ part }) => part))].sort((a, b) => a - b);
  return h("p", { class: "struck" }, h("b", {}, aside("Rule "), `${number} `, title, title && ". "), places.map((part) => {
    const said = part ? parts[part - 1] : text;
    return [part && h("span", { class: "quiet" }, `(${part}) `), struck(whole ? said : sentencesWith(said, changes.filter((it) => it.part === part)), changes, part), " "];
  }));
});

/** A defect in words, and a run that shows what it leads to. */
export class Printed {
  constructor(run, settings, on) {
    [this.run, this.settings, this.on] = [run, settings, on];
    this.where = h("p", { class: "quiet" });
    this.body = h("div", { class: "printed-body" });
    this.title = h("h2", { id: "printed-title" }, "What is printed");
    this.element = h("section", { class: "panel printed", "aria-labelledby": "printed-title", hidden: true }, h("div", { class: "bar" }, this.title, this.where), this.body);
  }

  update() {
    const exhibit = this.settings?.exhibit ?? null;
    this.element.hidden = !exhibit;
    const key = exhibit ? `${exhibit.algorithm} ${exhibit.defect}` : "";
    if (this.key === key) return;
    this.key = key;
    if (!exhibit) return;
    say(this.title, exhibit.mutant ? "What is left out" : "What is printed");
    say(this.where, exhibit.where ?? "");
    fill(this.body, h("dl", { class: "sides-of" }, h("dt", { class: "red" }, exhibit.mutant ? "Defect" : "Printed"), h("dd", {}, exhibit.printed), h("dt", { class: "well" }, "Right"), h("dd", {}, exhibit.right)), changedRules(exhibit.rules), this.run.canAct && h("div", { class: "acts-row" }, h("button", { class: "button small", onclick: () => this.on.fail(exhibit) }, "Watch it fail"), h("button", { class: "button small", onclick: () => this.on.right() }, "See it right")));
  }
}

/** The captions of a story: the one of the last step that has one. */
export class Story {
  constructor(run) {
    this.run = run;
    this.title = h("h2", {});
    this.text = h("p", { class: "caption-text", "aria-live": "polite" });
    this.place = h("span", { class: "quiet" });
    const go = (by) => () => run.go(this.#next(by) ?? (by > 0 ? run.last : 0));
    this.element = h("section", { class: "panel caption", "aria-label": "Story", hidden: true }, h("div", {}, this.title, this.text), h("div", { class: "story-acts" }, this.place, h("button", { class: "button small", "aria-label": "The caption before", onclick: go(-1) }, icon("left", 14)), h("button", { class: "button", onclick: go(1) }, "Go on")));
  }

  #next(by) {
    const stops = [0, ...this.run.story.captions.map((caption) => caption.at), this.run.last];
    return by > 0 ? stops.find((at) => at > this.run.at) : stops.findLast((at) => at < this.run.at);
  }

  update() {
    const { story, at } = this.run;
    this.element.hidden = !story;
    if (!story) return;
    const said = story.captions.filter((caption) => caption.at <= at);
    say(this.title, story.title);
    // The preface says which node stands for which of the text: at the start it comes before the first caption.
    say(this.text, [at === 0 || !said.length ? story.preface : "", said.at(-1)?.text ?? ""].join(" ").trim());
    say(this.place, `${said.length} of ${story.captions.length}`);
  }
}
