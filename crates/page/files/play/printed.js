// What is printed and what is right, for a defect that is played; and the captions of a story.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";

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
    fill(this.body, h("dl", { class: "sides-of" }, h("dt", { class: "red" }, exhibit.mutant ? "Defect" : "Printed"), h("dd", {}, exhibit.printed), h("dt", { class: "well" }, "Right"), h("dd", {}, exhibit.right)), this.run.canAct && h("div", { class: "acts-row" }, h("button", { class: "button small", onclick: () => this.on.fail(exhibit) }, "Watch it fail"), h("button", { class: "button small", onclick: () => this.on.right() }, "See it right")));
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
    say(this.text, said.length ? said.at(-1).text : story.preface);
    say(this.place, `${said.length} of ${story.captions.length}`);
  }
}
