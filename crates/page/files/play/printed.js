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

/** A story in parts. Each is told at its end: there the picture is what the caption says. */
export class Story {
  constructor(run) {
    this.run = run;
    this.title = h("h2", {});
    this.text = h("p", { class: "caption-text", "aria-live": "polite" });
    this.place = h("span", { class: "quiet" });
    this.before = h("button", { class: "button small", "aria-label": "The part before", onclick: () => (run.pause(), run.go(this.#stops().findLast((at) => at < run.at))) }, icon("left", 14));
    this.on = h("button", { class: "button", onclick: () => this.#goOn() }, "Go on");
    this.element = h("section", { class: "panel caption", "aria-label": "Story", hidden: true }, h("div", {}, this.title, this.text), h("div", { class: "story-acts" }, this.place, this.before, this.on));
  }

  #stops() {
    return [0, ...this.run.story.captions.map(({ to }) => to)];
  }

  /** Plays a part to its end; pressed again, it is at the end at once. */
  #goOn() {
    const { run } = this;
    const to = this.#stops().find((at) => at > run.at);
    if (!run.playing) return run.play(to);
    run.pause();
    run.go(to);
  }

  update() {
    const { story, at, last } = this.run;
    this.element.hidden = !story;
    if (!story) return;
    const index = story.captions.findIndex(({ to }) => at <= to);
    const { text, to } = story.captions[index];
    say(this.title, story.title);
    // The preface says which node stands for which of the text.
    say(this.text, at === 0 ? story.preface : at < to ? `By step ${to}: ${text}` : text);
    say(this.place, `${at === 0 ? 0 : index + 1} of ${story.captions.length}`);
    [this.before.disabled, this.on.disabled] = [at === 0, at >= last];
  }
}
