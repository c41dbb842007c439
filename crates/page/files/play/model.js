// A run: a setting, steps, and the states that the server answers for them. The state machines are in the server; here is
// nothing but what was asked, what was answered, and where the reader is.
//
// Steps are kept as the server answered them: they name what the algorithm picked. A state is the one after so many steps.

import { Outline } from "./outline.js";
import { Refusal, server } from "./source.js";

/** States are asked for in ranges: so many at once, fewer where states are large. */
const AT_ONCE = 500;
const NODES_AT_ONCE = 3000;
/** So many states around the reader come first. */
const [BEFORE, AFTER] = [8, 24];
/** So many states of nodes are kept; the outline remembers the rest. */
const MOST_KEPT = 60_000;
export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32];
export const MOST_STEPS = 10_000;

/** An answer about all the steps that were asked for; one about some of them is a refusal. */
function whole(answer) {
  if (answer.misfit) throw new Refusal(answer.misfit);
  return answer;
}

export class Run extends EventTarget {
  setting = null;
  steps = [];
  rules = [];
  catalogueEntry = null;
  /** The first violation of the whole run: {at, property, detail}. */
  violated = null;
  /** What the server refused, until something else is done: {message, kind, fits, step, setting, steps}. */
  problem = null;
  /** Other futures: {at, steps, setting, name}. They are never thrown away. */
  branches = [];
  /** A story: {title, preface, captions}. */
  story = null;
  chosen = null;
  message = null;
  playing = false;
  speed = 2;
  busy = false;
  #at = 0;
  #states = new Map();
  #outline = new Outline();
  #asking = null;
  #asked = null;
  #waiters = [];
  #chain = Promise.resolve();
  #timer = 0;
  #loads = 0;
  #plays = 0;
  #working = 0;

  constructor(source = server) {
    super();
    this.source = source;
  }

  get canAct() {
    return this.source.canAct;
  }

  get at() {
    return this.#at;
  }

  get last() {
    return this.steps.length;
  }

  /** The state where the reader is, or null while it is under way. */
  get current() {
    return this.state(this.#at);
  }

  /** {nodes, bars, waits, messages, crashes, done}: whole as soon as `done` is more than `last`. Another object if it changed. */
  get outline() {
    return this.#outline.snapshot(this.setting?.nodes ?? 0);
  }

  /** Chooses a node, or none. */
  choose(node) {
    if (node === this.chosen) return;
    this.chosen = node;
    this.#tell("chosen");
  }

  /** Chooses a message by its number, or none. */
  chooseMessage(id) {
    if (id === this.message) return;
    this.message = id;
    this.#tell("chosen");
  }

  /** A state that is there, or null: then it is asked for. */
  state(at) {
    const state = this.#states.get(at) ?? null;
    if (!state && this.setting && at >= 0 && at <= this.last) this.#pump(at);
    return state;
  }

  /** A state as it is known: nothing is asked for. */
  known(at) {
    return this.#states.get(at) ?? null;
  }

  /** Begins another run. What was there goes to the branches. Returns what the server answered, or null if it did not take it. With
   * `partly`, a run is taken as far as it fits. */
  load(setting, steps = [], at = steps.length, { partly = false } = {}) {
    return this.#load(() => ({ setting, steps, at }), partly);
  }

  /** Opens the text of a link or of a trace file. */
  open(text, at) {
    return this.#load(async () => {
      const { steps, ...setting } = await this.source.open(text);
      return { setting, steps, at: at ?? steps.length };
    });
  }

  /** Of several loads the last one counts, in whatever order they are answered. */
  async #load(find, partly = false) {
    this.pause();
    const load = ++this.#loads;
    this.#busy(1);
    let wanted = {};
    try {
      wanted = await find();
      const { setting, steps, at } = wanted;
      const catalogue = await this.source.catalogue();
      const want = [Math.max(0, Math.min(at, steps.length) - BEFORE), Math.min(steps.length, at + AFTER)];
      const answer = await this.source.play({ ...setting, steps, want: [want] });
      if (load !== this.#loads) return null;
      this.#begin(partly ? answer : whole(answer), at, catalogue);
      return answer;
    } catch (problem) {
      if (load === this.#loads) this.#refused(problem, wanted);
      return null;
    } finally {
      this.#busy(-1);
    }
  }

  #begin(answer, at, catalogue) {
    const known = (name) => catalogue.find((entry) => entry.name === name);
    this.#keepBranch(answer);
    this.#stop();
    this.setting = answer.setting;
    this.rules = answer.rules;
    const name = answer.setting.algorithm;
    this.catalogueEntry = known(name) ?? known(/^partitioned\((.+)\)$/.exec(name)?.[1]) ?? null;
    this.story = null;
    if (this.chosen >= answer.setting.nodes) this.chosen = null;
    this.#replace(answer.steps, answer, 0);
    this.#at = Math.max(0, Math.min(at, this.last));
    this.problem = null;
    this.#tell("setting");
    this.#tell("steps");
    this.#tell("at");
    this.#pump();
  }

  /** Takes a step here. In the past that makes a branch: the old future stays. Returns whether the step was taken. */
  act(step) {
    let at;
    const ask = () => {
      at = this.#at;
      return this.steps[at] === step ? null : this.source.play({ ...this.setting, steps: [...this.steps.slice(0, at), step], want: [at + 1] });
    };
    return this.#inTurn(ask, (answer) => {
      if (answer && whole(answer).steps[at] !== this.steps[at]) {
        if (at < this.last) this.#branch(at);
        this.story = null;
        this.#replace(answer.steps, answer, at + 1);
      }
      return this.go(at + 1);
    });
  }

  /** Goes on by itself, at the end of the run. Returns how many steps there are more. */
  auto(count = 1, faults = false) {
    let had;
    const ask = () => {
      had = this.last;
      const room = Math.min(count, MOST_STEPS - had);
      return room > 0 ? this.source.autorun({ ...this.setting, steps: this.steps, count: room, ...(faults ? { faults } : {}) }) : null;
    };
    return this.#inTurn(ask, (answer) => {
      if (answer?.steps.length > had) this.#replace(answer.steps, answer, had + 1);
      this.#pump();
      return this.last - had;
    });
  }

  /** Goes to a state, and returns when it is there. */
  async go(at) {
    const to = Math.max(0, Math.min(Math.round(at), this.last));
    if (to !== this.#at) {
      this.#at = to;
      this.#tell("at");
    }
    if (this.problem) {
      this.problem = null;
      this.#tell("problem");
    }
    if (!this.#states.has(to)) await new Promise((there) => {
      this.#waiters.push([to, there]);
      this.#pump(to);
    });
    else this.#pump(to);
    return true;
  }

  step(by = 1) {
    this.pause();
    return this.go(this.#at + by);
  }

  /** To the next entry, or to the one before. */
  nextEntry(by = 1) {
    this.pause();
    const entries = this.#outline.bars.map((bar) => bar[2]).sort((a, b) => a - b);
    const to = by > 0 ? entries.find((at) => at > this.#at) : entries.findLast((at) => at < this.#at);
    return this.go(to ?? (by > 0 ? this.last : 0));
  }

  share() {
    return this.source.share({ ...this.setting, steps: this.steps });
  }

  /** Takes up another future; the present one takes its place among the branches. */
  async switchBranch(index) {
    const branch = this.branches[index];
    if (!branch) return false;
    if (!(await this.load(branch.setting, branch.steps, branch.at))) return false;
    this.branches.splice(this.branches.indexOf(branch), 1);
    this.#tell("steps");
    return true;
  }

  /** Plays, up to this step if one is named. */
  play(to = Infinity) {
    if (this.playing || !this.setting) return;
    this.playing = true;
    this.#tell("busy");
    this.#tick(++this.#plays, to);
  }

  pause() {
    clearTimeout(this.#timer);
    this.#plays += 1;
    if (!this.playing) return;
    this.playing = false;
    this.#tell("busy");
  }

  setSpeed(speed) {
    this.speed = Math.min(SPEEDS.at(-1), Math.max(SPEEDS[0], speed));
    this.#tell("busy");
  }

  /** Puts a refusal away. */
  forgive() {
    if (!this.problem) return;
    this.problem = null;
    this.#tell("problem");
  }

  /** Goes on until this very play is paused: another one may have begun while an answer was under way. */
  async #tick(play, to) {
    const stopped = () => play !== this.#plays;
    const begun = Date.now();
    const at = this.#at;
    if (at === this.last) {
      // Above 8 steps a second several steps are asked for at once, so that the way to the server does not count.
      const more = this.canAct && (await this.auto(this.speed > 8 ? 8 : 1));
      if (stopped()) return;
      if (!more) return this.pause();
    }
    await this.go(at + 1);
    if (stopped()) return;
    if (this.violated?.at === this.#at || this.#at >= to || (this.#at === this.last && !this.canAct)) return this.pause();
    this.#timer = setTimeout(() => this.#tick(play, to), Math.max(0, 1000 / this.speed - (Date.now() - begun)));
  }

  /** One after the other: a second click waits for the answer to the first. An answer is taken only while the run is there that it
   * was asked for: else it would put the state of one run under the name of another. */
  #inTurn(ask, take) {
    const turn = this.#chain.then(async () => {
      const { setting } = this;
      if (!setting || !this.canAct) return false;
      this.#busy(1);
      try {
        const answer = await ask();
        return this.setting === setting ? await take(answer) : false;
      } catch (problem) {
        if (this.setting === setting) this.#refused(problem);
        return false;
      } finally {
        this.#busy(-1);
      }
    });
    this.#chain = turn.catch(() => {});
    return turn;
  }

  #refused(problem, more = {}) {
    if (!(problem instanceof Refusal)) throw problem;
    this.pause();
    for (const [, there] of this.#waiters.splice(0)) there();
    this.problem = { message: problem.message, kind: problem.kind, fits: problem.fits, step: problem.step, ...more };
    this.#tell("problem");
  }

  /** Puts other steps in place: those before number `from` are the same. */
  #replace(steps, answer, from) {
    this.#stop();
    this.steps = steps;
    const had = this.violated;
    this.violated = answer.violated ?? null;
    for (const at of [...this.#states.keys()]) if (at >= from) this.#states.delete(at);
    if (this.#outline.done > from) this.#outline = new Outline();
    for (const state of answer.states) this.#states.set(state.at, state);
    this.#follow();
    this.#tell("steps");
    if (this.violated && this.violated.at !== had?.at) this.#tell("violated");
  }

  #branch(at, steps = this.steps) {
    const rest = steps.length - at;
    this.branches.unshift({ at, steps, setting: this.setting, name: `${rest === 1 ? "1 step" : `${rest} steps`} from step ${at} on: ${steps.slice(at, at + 3).join(" ")}${rest > 3 ? " …" : ""}` });
  }

  /** A run that another one replaces is kept, unless it is the beginning of it or is kept already. */
  #keepBranch(next) {
    const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    if (!this.setting || !this.steps.length || this.story) return;
    const alike = same(this.setting, next.setting);
    let at = 0;
    while (alike && at < this.steps.length && this.steps[at] === next.steps[at]) at += 1;
    if (at === this.steps.length || this.branches.some((branch) => same(branch.steps, this.steps) && same(branch.setting, this.setting))) return;
    this.#branch(at);
    if (!alike) this.branches[0].name = `${this.setting.algorithm}${this.setting.defect ? `, ${this.setting.defect}` : ""}, ${this.setting.nodes} nodes, ${this.steps.length} steps`;
  }

  #stop() {
    this.#asking?.abort("left");
    this.#asking = null;
  }

  /** Takes what has arrived into the outline. */
  #follow() {
    for (let state = this.#states.get(this.#outline.done); state; state = this.#states.get(this.#outline.done)) this.#outline.add(state, this.catalogueEntry);
    this.#waiters = this.#waiters.filter(([at, there]) => {
      const done = this.#states.has(at) || at > this.last;
      if (done) there();
      return !done;
    });
    const most = Math.max(300, Math.floor(MOST_KEPT / (this.setting?.nodes ?? 6)));
    if (this.#states.size <= most) return;
    const far = [...this.#states.keys()].filter((at) => at < this.#outline.done).sort((a, b) => Math.abs(b - this.#at) - Math.abs(a - this.#at));
    for (const at of far.slice(0, this.#states.size - most + 50)) this.#states.delete(at);
  }

  /** The next range that is missing: around the reader first, then what the outline lacks. */
  #missing(near) {
    const most = Math.max(20, Math.min(AT_ONCE, Math.floor(NODES_AT_ONCE / this.setting.nodes)));
    const range = (from, to) => {
      let [begin, end] = [from, Math.min(to, this.last)];
      while (begin <= end && this.#states.has(begin)) begin += 1;
      while (end > begin && this.#states.has(end)) end -= 1;
      return begin <= end ? [begin, Math.min(end, begin + most - 1)] : null;
    };
    for (const at of [near, this.#at]) {
      if (at === undefined || at > this.last || this.#states.has(at)) continue;
      return range(Math.max(0, at - BEFORE), at + AFTER);
    }
    return range(Math.max(0, this.#at - BEFORE), this.#at + AFTER) ?? (this.#outline.done <= this.last ? range(this.#outline.done, this.#outline.done + most - 1) : null);
  }

  async #pump(near) {
    if (!this.setting) return;
    if (this.#asking) {
      // What the reader looks at must not wait for what the outline lacks.
      const [from, to] = this.#asked;
      if (near === undefined || near !== this.#at || this.#states.has(near) || (near >= from && near <= to)) return;
      this.#stop();
    }
    const range = this.#missing(near);
    if (!range) return;
    const asking = new AbortController();
    [this.#asking, this.#asked] = [asking, range];
    try {
      const answer = await this.source.play({ ...this.setting, steps: this.steps, want: [range] }, asking.signal);
      if (this.#asking !== asking) return;
      this.#asking = null;
      for (const state of answer.states) this.#states.set(state.at, state);
      this.#follow();
      this.#tell("states");
      this.#pump();
    } catch (problem) {
      if (this.#asking !== asking) return;
      this.#asking = null;
      this.#refused(problem);
    }
  }

  #busy(by) {
    this.#working += by;
    const busy = this.#working > 0;
    if (this.busy === busy) return;
    this.busy = busy;
    this.#tell("busy");
  }

  #tell(what) {
    this.dispatchEvent(new CustomEvent("change", { detail: { what } }));
  }
}
