// Find: the checker looks for the shortest way from here to a state, and the way becomes a run that can be stepped.

import { Problem, watch } from "../ask.js";
import { announce, fill, h, say } from "../dom.js";
import { dialog } from "../frame.js";
import { count, many } from "../words.js";

/** What may happen on the way, and how often if the reader says nothing. */
const MAY = [["requests", "requests of each node", 1], ["losses", "messages lost", 0], ["duplicates", "messages doubled", 0], ["crashes", "crashes", 0]];
const COUNTED = { waiting: "at least … clients wait", inside: "at least … clients are inside", queue: "a queue has at least … requests" };

/** All goals: [where they stand, words, goal]. */
function goals({ notes = [], properties = [], tokens } = {}) {
  const state = (is, words) => ["A state in which", words, { is }];
  return [
    ["A violation", "any property is violated", { is: "violation" }],
    ...properties.map((property) => ["A violation", `${property} is violated`, { is: "violation", property }]),
    ...notes.map((note) => ["A step in which", note, { is: "note", note }]),
    ...Object.entries(COUNTED).map((it) => state(...it)),
    state("none-free", tokens === "none" ? "no other client may enter" : "no token is free"),
    tokens !== "none" && state("token-lost", "a token is lost"),
    state("all-served", "every request is served, and no message is in flight"),
  ].filter(Boolean);
}

/** Opens the search; `tell` shows what was found beside the run. */
export function findView(run, tell = () => {}) {
  if (!run.setting || !run.canAct) return;
  run.pause();
  const { setting, catalogueEntry: entry } = run;
  // Algorithms that rely on bounded delays are searched from the start only.
  const at = entry?.bears.any_time === false ? 0 : run.at;
  const steps = run.steps.slice(0, at);
  const all = goals(entry ?? {});
  const field = (label, input) => h("label", {}, label, input);
  const number = h("input", { type: "number", min: 1, max: 100, value: 2 });
  const howMany = field("How many", number);
  const goal = h("select", { autofocus: true, "aria-label": "What to look for", onchange: choose }, [...new Set(all.map(([group]) => group))].map((group) => h("optgroup", { label: group }, all.map(([of, words], index) => of === group && h("option", { value: index }, words)))));
  const may = MAY.map(([name, words, value]) => [name, h("input", { type: "number", min: 0, max: 9, value }), words]);
  const cancels = h("input", { type: "checkbox" });
  const told = h("div", { role: "status" });
  const figures = ["states", "steps deep", "states a second"].map((words) => [words, h("dd", {})]);
  const running = h("dl", { class: "finding", hidden: true }, figures.map(([words, value]) => h("div", {}, h("dt", {}, words), value)));
  let asking = null;
  const begin = h("button", { class: "button main", onclick: search }, "Find");
  const stop = h("button", { class: "button", hidden: true, onclick: () => asking.abort("left") }, "Stop");
  const { box, close } = dialog(
    "Find the shortest way",
    h("p", {}, `From ${at ? `step ${at}` : "the start"}${at < run.at ? ", because this algorithm relies on bounded delays" : ""}. The checker tries all that can happen.`),
    h("div", { class: "allowed" }, goal, howMany),
    h("details", {}, h("summary", {}, "What may happen on the way"), h("div", { class: "allowed" }, may.map(([, input, words]) => field(words, input)), field("clients cancel", cancels))),
    running,
    told,
    h("div", { class: "buttons" }, stop, begin),
  );
  box.addEventListener("close", () => asking?.abort("left"));
  choose();

  function choose() {
    howMany.hidden = !(all[goal.value][2].is in COUNTED);
  }

  async function search() {
    const wanted = { ...all[goal.value][2], ...(howMany.hidden ? {} : { count: Number(number.value) }) };
    const body = JSON.stringify({ ...setting, steps, goal: wanted, may: { ...Object.fromEntries(may.map(([name, input]) => [name, Number(input.value)])), cancels: cancels.checked } });
    asking = new AbortController();
    const begun = performance.now();
    let [answer, seen] = [{ result: "stopped" }, { states: 0, depth: 0 }];
    const progress = () => [seen.states, seen.depth, Math.round((seen.states * 1000) / (performance.now() - begun + 50))].forEach((value, index) => say(figures[index][1], count(value)));
    [begin.disabled, stop.hidden, running.hidden] = [true, false, false];
    fill(told);
    progress();
    stop.focus();
    try {
      for await (const { event, facts } of watch("/player/find", asking.signal, body)) {
        if (event === "refusal") throw new Problem(facts);
        seen = { states: facts.states, depth: facts.depth };
        if (event === "done") answer = facts;
        progress();
      }
    } catch (problem) {
      if (!asking.signal.aborted && !(problem instanceof Problem)) throw problem;
      answer = asking.signal.aborted ? { result: "stopped", why: "interrupt" } : { result: "refused", message: problem.message };
    }
    [begin.disabled, stop.hidden] = [false, true];
    if (!box.isConnected) return;
    if (answer.result === "found" && answer.steps.length) return found(answer);
    const words = {
      found: "This state is one already.",
      exhausted: `There is no way: all that can happen was tried. With more requests${wanted.is === "violation" ? ", losses or crashes" : ""} there may be one.`,
      stopped: answer.why === "interrupt" ? "Stopped." : answer.message ? `Not found: ${answer.message}. Fewer nodes or requests make it smaller.` : "The server hung up.",
      refused: answer.message,
    }[answer.result];
    fill(told, h("p", { class: answer.result === "refused" && "wrong" }, words, answer.result !== "refused" && ` ${many(seen.states, "state")} explored, up to ${many(seen.depth, "step")} deep.`));
    begin.focus();
  }

  /** The way is the future of the run: the reader steps into it. */
  async function found(answer) {
    close();
    if (!(await run.load(setting, [...steps, ...answer.steps], at))) return;
    const words = `Found in ${many(answer.steps.length, "step")}${answer.detail ? `: ${answer.detail}` : ""}. ${many(answer.states, "state")} explored, and no way is shorter. Step forward to see it.`;
    tell(words);
    announce(words);
  }
}
