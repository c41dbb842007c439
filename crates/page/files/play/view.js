// The player: graph, panels, the sentence of the step, time and transport of one run. Everything that is shown comes from the run
// (model.js); this puts the parts together and says what is drawn when.

import { fill, h, say, set } from "../dom.js";
import { icon } from "../draw/icons.js";
import { Tabs, small } from "../draw/tabs.js";
import { replace } from "../router.js";
import { count, many } from "../words.js";
import { messageMenu, toMessage } from "./acts.js";
import { branchesView } from "./branches.js";
import { exportView } from "./export.js";
import { findView } from "./find.js";
import { Graph } from "./graph.js";
import { playerKeys } from "./keys.js";
import { numbered, wrong } from "./looks.js";
import { Flight, Nodes, Properties, Rules, bound } from "./panels.js";
import { Printed, Story } from "./printed.js";
import { Settings } from "./settings.js";
import { shareView } from "./share.js";
import { timeView } from "./time.js";
import { Transport } from "./transport.js";

/** Below this width one panel is shown at a time; time is beside it, except on a phone. */
const narrow = matchMedia("(max-width: 1099px)");

/** A sentence with the numbers of nodes in bold. */
function bold(text) {
  return text.split(/(\b[Nn]odes? \d+|\btoken \d+|\bvia \d+)/).map((part, index) => (index % 2 ? h("b", {}, part) : part));
}

class Player {
  #scheduled = false;
  #said = null;
  #alarmed = "";
  notice = null;

  constructor(root, run, { offline = false, about = null } = {}) {
    [this.run, this.offline] = [run, offline];
    const act = (words, name, call, key) => h("button", { class: "button with-icon", title: `${words} (${key})`, onclick: call }, icon(name), h("span", {}, words));
    this.settings = offline ? null : new Settings(run, (setting, keep, note) => this.change(setting, keep, note));
    this.graph = new Graph(run, {
      node: (number) => run.choose(run.chosen === number ? null : number),
      message: (message, element) => (run.chooseMessage(message.id), toMessage(run, run.current, message.id, "deliver", element)),
      menu: (message, element) => run.canAct && run.current && messageMenu(run, run.current, message, element),
    });
    this.nodes = new Nodes(run);
    this.flight = new Flight(run);
    this.rules = new Rules(run);
    this.properties = new Properties(run);
    this.printed = new Printed(run, this.settings, { right: () => this.seeItRight(), fail: (exhibit) => this.watch(exhibit) });
    this.story = new Story(run);
    this.time = timeView(run);
    this.transport = new Transport(run, { branches: () => branchesView(run) });
    this.title = h("h1", {});
    this.facts = h("p", { class: "quiet" });
    this.step = h("code", { class: "step-chip", hidden: true });
    this.sentence = h("p", { class: "sentence-text", "aria-live": "polite" });
    this.alarm = h("p", { class: "hidden-text", role: "alert" });
    this.counts = h("dl", { class: "counts" });
    this.problem = h("div", { class: "problem", hidden: true });
    this.right = h("div", { class: "acts-row right-acts", hidden: true }, h("button", { class: "button", onclick: () => this.seeItRight() }, "See it right"), !offline && h("a", { class: "button", href: "/ui/gallery" }, "Gallery"));
    const tools = offline ? [] : [act("Find…", "find", () => this.find(), "F"), act("Share", "share", () => shareView(run), "S"), act("Export", "export", () => exportView(run), "X"), h("button", { class: "button to-branches", onclick: () => branchesView(run) }, "Branches")];
    if (this.settings) fill(this.settings.acts, h("button", { class: "button", title: "Begin again with no steps; this run stays under branches", onclick: () => this.change(run.setting, false) }, "New run"), tools);
    this.timePanel = h("div", { class: "time-panel" }, this.time.element);
    const tab = (key, word, { element }, when = narrow) => ({ key, word, panel: element, when });
    this.tabs = new Tabs("Panels", [tab("time", "Time", { element: this.timePanel }, small), tab("flight", "Flight", this.flight), tab("nodes", "Nodes", this.nodes), tab("rules", "Rules", this.rules), tab("holds", "Holds", this.properties)], { chosen: "time", otherwise: "nodes", show: (_, key) => this.tab(key), choose: () => null });
    this.header = h("header", { class: "player-head" }, !offline && h("a", { class: "round back-link", href: "/ui/gallery", "aria-label": "All runs" }, icon("left", 18)), h("div", {}, this.title, this.facts), !offline && [h("button", { class: "round", "aria-label": "Find a state", onclick: () => this.find() }, icon("find", 18)), h("button", { class: "round", "aria-label": "Share", onclick: () => shareView(run) }, icon("share", 18)), h("button", { class: "round", "aria-label": "Setting", "aria-expanded": "false", onclick: (event) => this.openSettings(event.currentTarget) }, icon("more", 18))]);
    this.oneLine = h("section", { class: "panel stage-rule", "aria-label": "The rule that ran" });
    this.element = h(
      "div",
      { class: "player" },
      this.header,
      this.settings?.element,
      this.problem,
      this.graph.element,
      h("div", { class: "column of-state" }, this.nodes.element, this.printed.element, this.flight.element),
      h("div", { class: "column of-laws" }, this.rules.element, this.properties.element),
      this.oneLine,
      this.story.element,
      h("section", { class: "sentence", "aria-label": "This step" }, this.step, this.sentence, this.right, this.counts, this.alarm),
      this.tabs.element,
      h("div", { class: "panel time-and-transport" }, this.timePanel, h("div", { class: "transport-bar" }, this.time.slider, this.transport.element)),
    );
    // On a phone what controls time stands below its diagram.
    this.place = () => {
      const { time, transport } = this;
      (small.matches ? time.controls : transport.element).append(...transport.more);
      (small.matches ? this.timePanel : transport.element).append(time.controls);
    };
    small.addEventListener("change", this.place);
    this.place();
    root.append(this.element);
    this.tabs.apply();
    this.about = about;
    this.onChange = ({ detail }) => this.changed(detail.what);
    run.addEventListener("change", this.onChange);
    if (this.settings) this.settings.changed = () => this.draw();
    this.keys = playerKeys(this);
    this.draw();
  }

  leave() {
    this.run.removeEventListener("change", this.onChange);
    this.run.pause();
    small.removeEventListener("change", this.place);
    this.tabs.leave();
    this.graph.leave();
    this.time.leave?.();
    delete document.documentElement.dataset.stage;
  }

  tab(name) {
    this.element.dataset.tab = name ?? "";
    set(this.timePanel, { "aria-label": small.matches ? "Time" : null });
    this.time.update("size");
  }

  openSettings(button) {
    const open = this.element.toggleAttribute("data-settings");
    button.setAttribute("aria-expanded", String(open));
  }

  /** Everything big, for a lecture. */
  stage(on = !("stage" in document.documentElement.dataset)) {
    if (on) document.documentElement.dataset.stage = "";
    else delete document.documentElement.dataset.stage;
    if (!this.offline) {
      const here = new URL(location.href);
      if (on) here.searchParams.set("stage", "1");
      else here.searchParams.delete("stage");
      replace(here);
    }
    requestAnimationFrame(() => (this.time.update("size"), this.draw()));
    return true;
  }

  /** Plays another setting; the steps go with it as far as they fit. */
  async change(setting, keep, note = null) {
    const { run } = this;
    if (!setting) return false;
    this.notice = null;
    const had = [run.steps, run.at];
    // The faults that the properties allow for are the algorithm's, unless a trace said otherwise.
    const wanted = setting.algorithm === run.setting.algorithm ? setting : { ...setting, faulty: null };
    if (!keep || !had[0].length) {
      const answer = await run.load(wanted, [], 0);
      if (answer && note) this.tell(note);
      return answer;
    }
    const answer = await run.load(wanted, ...had, { partly: true });
    const misfit = answer?.misfit;
    if (misfit) this.tell(`With this setting the run goes another way from step ${misfit.fits + 1} on: ${misfit.step} is not possible there. The old run is under branches.`);
    return answer;
  }

  seeItRight() {
    return this.change({ ...this.run.setting, defect: null }, true);
  }

  /** A run of the gallery that shows what a defect leads to. */
  async watch(exhibit) {
    this.notice = null;
    if (await this.run.load(exhibit.setting, exhibit.steps, 0)) this.run.play();
  }

  find() {
    findView(this.run, (text) => this.tell(text));
  }

  /** A line that is no refusal. */
  tell(text) {
    this.notice = text;
    this.draw();
  }

  changed(what) {
    if (what === "at") this.notice = null;
    // A field that has what was refused shows again what is played.
    if (what === "problem" && this.settings) this.settings.key = null;
    this.time.update(what);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.draw();
    });
  }

  draw() {
    const { run } = this;
    this.drawProblem();
    this.transport.update();
    this.element.toggleAttribute("data-busy", run.busy);
    this.element.toggleAttribute("data-empty", !run.setting);
    this.element.toggleAttribute("data-none", !run.setting && Boolean(run.problem));
    if (!run.setting) return;
    this.settings?.update();
    this.drawTitle();
    const state = run.current;
    this.story.update();
    if (!state) return;
    this.graph.show(state);
    this.nodes.update(state);
    this.flight.update(state);
    this.rules.update(state);
    this.properties.update(state);
    this.printed.update();
    this.drawSentence(state);
    this.drawStage(state);
    const holds = state.properties.filter((property) => property.verdict === "holds").length;
    const flying = state.flight.length + state.more_flight;
    this.tabs.say("flight", flying ? count(flying) : "");
    if (wrong(state)) this.tabs.say("holds", "", "Violated");
    else this.tabs.say("holds", count(holds));
    this.about?.(run);
  }

  drawTitle() {
    const { setting, catalogueEntry: entry } = this.run;
    say(this.title, this.run.story?.title ?? setting.algorithm);
    const facts = [many(setting.nodes, "node"), numbered(this.run) || entry?.kind === "k-mutex" ? many(setting.tokens, "token") : null, entry?.kind === "group-mutex" ? many(setting.groups, "group") : null, setting.defect ?? (entry?.defects.length ? "corrected" : null)];
    say(this.facts, facts.filter(Boolean).join(", "));
  }

  drawSentence(state) {
    const { run } = this;
    const bad = wrong(state);
    const key = JSON.stringify([state.at, state.step, state.sentence, bad, run.last, run.setting.algorithm]);
    if (key !== this.#said) {
      this.#said = key;
      // Faster than one a second, a screen reader could not follow.
      this.sentence.setAttribute("aria-live", run.playing && run.speed > 1 ? "off" : "polite");
      this.step.hidden = state.at === 0;
      say(this.step, state.step ?? "");
      const words = state.at === 0 ? (run.canAct && !run.last ? "This is the start. Let a node request, or press Play: the run goes on by itself." : "This is the start.") : state.sentence;
      const [before, after, but] = words.split(/(?=This violates |But step \d+, )/);
      fill(this.sentence, bold(before), after && h("strong", { class: "red" }, after), but && h("strong", {}, but));
      this.element.toggleAttribute("data-violated", Boolean(bad));
      const alarm = bad ? `${bad.name} is violated: ${bad.detail}` : "";
      if (alarm !== this.#alarmed) say(this.alarm, (this.#alarmed = alarm));
    }
    this.right.hidden = !(bad && run.setting.defect && run.canAct);
    const { messages, words, entries } = state.counts;
    const figure = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
    const of = (number, one, more) => figure(count(number), number === 1 ? one : more);
    fill(this.counts, of(messages, "message", "messages"), of(words, "word", "words"), of(entries, "entry", "entries"), entries > 0 && figure((messages / entries).toFixed(1), "messages an entry"));
    this.counts.hidden = !this.right.hidden && innerWidth < 1500;
  }

  /** What a lecture hall reads: the rule that ran, one line of verdict, counts. */
  drawStage(state) {
    if (!("stage" in document.documentElement.dataset)) return;
    const rule = this.run.rules.find((it) => it.number === state.rule?.number);
    const bad = wrong(state);
    const holds = state.properties.filter((property) => property.verdict === "holds").length;
    const { messages, entries } = state.counts;
    const figure = (value, words) => h("div", {}, h("b", {}, String(value)), h("span", { class: "quiet" }, words));
    fill(this.oneLine, h("div", { class: "stage-text" }, rule ? [h("p", { class: "quiet" }, `Rule ${rule.number}`), h("h2", {}, rule.title), h("code", {}, bound(state.rule.bind)), h("p", {}, rule.text), rule.parts[(state.rule.part ?? 0) - 1] && h("p", { class: "part-ran" }, rule.parts[state.rule.part - 1])] : h("p", { class: "quiet" }, "No rule ran in this step.")), h("p", { class: `stage-verdict ${bad ? "red" : "well"}` }, icon(bad ? "close" : "check", 18), bad ? `${bad.name}: ${bad.detail}${state.beyond ? "; beyond what it claims to bear" : ""}` : `${many(holds, "property holds", "properties hold")} in this state`), h("div", { class: "stage-counts" }, figure(messages, messages === 1 ? "message" : "messages"), figure(entries, entries === 1 ? "entry" : "entries"), figure(entries ? (messages / entries).toFixed(1) : "–", "an entry")));
  }

  drawProblem() {
    const { run } = this;
    const { problem } = run;
    const key = JSON.stringify([problem?.message, this.notice, Boolean(run.setting)]);
    if (this.problem.key === key) return;
    this.problem.key = key;
    this.problem.hidden = !problem && !this.notice;
    this.problem.className = `problem ${problem ? "refused" : "notice"}`;
    if (!problem && !this.notice) return fill(this.problem);
    const close = h("button", { class: "round small", "aria-label": "Close", onclick: () => ((this.notice = null), run.forgive(), this.drawProblem()) }, icon("close", 14));
    if (!problem) return fill(this.problem, h("p", { role: "status" }, this.notice), close);
    const fits = typeof problem.fits === "number" && problem.steps;
    const again = problem.kind === "silent" && problem.setting;
    fill(this.problem, !run.setting && h("span", { class: "bang", "aria-hidden": "true" }, "!"), h("p", { role: "alert" }, h("b", {}, ["setting", "bounds"].includes(problem.kind) ? "This setting cannot be played. " : problem.steps ? "This run cannot be replayed. " : "This was not done. "), `${problem.message.charAt(0).toUpperCase()}${problem.message.slice(1)}.`.replace(/([.?!])\.$/, "$1")), fits && h("button", { class: "button", onclick: () => run.load(problem.setting, problem.steps.slice(0, problem.fits), problem.fits) }, `Open it up to step ${problem.fits}`), again && h("button", { class: "button", onclick: () => run.load(problem.setting, problem.steps, problem.at) }, "Try again"), run.setting ? close : h("a", { class: "button", href: "/ui/play/bulgannawar-vaidya" }, "Begin a run"));
  }
}

/** Shows a run. It may be loaded later. Returns {element, update, leave, keys, player}. */
export function playView(root, run, options) {
  const player = new Player(root, run, options);
  return { player, element: player.element, keys: player.keys, update: () => player.draw(), leave: () => player.leave() };
}
