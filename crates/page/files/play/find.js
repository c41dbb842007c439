// Find: the checker looks for the shortest way from here to a state, and the way becomes a run that can be stepped.

import { Problem, watch } from "../ask.js";
import { announce, fill, h, say } from "../dom.js";
import { dialog } from "../frame.js";
import { count, many } from "../words.js";

/** What may happen on the way: the name of the server, the words, the default, whether it is a fault. */
const MAY = [["requests", "requests of each node", 1], ["losses", "messages lost", 0], ["duplicates", "messages doubled", 0], ["crashes", "crashes", 0]];
const STOPPED = { states: "Not found: the bound of states is reached.", memory: "Not found: the memory for searches is full.", interrupt: "Stopped." };

/** The goals: their words, and the goal with what was entered. */
function goals(run, number, note, property) {
  const entry = run.catalogueEntry;
  const tokens = run.setting.tokens > 1 || entry?.tokens !== "none";
  return [
    ["violation", h("span", {}, "a property is violated"), () => ({ is: "violation", ...(property.value ? { property: property.value } : {}) }), property],
    entry?.notes.length && ["note", "this happens", () => ({ is: "note", note: note.value }), note],
    ["waiting", "so many clients wait", () => ({ is: "waiting", count: Number(number.value) })],
    ["inside", "so many clients are inside", () => ({ is: "inside", count: Number(number.value) })],
    ["queue", "a queue is so long", () => ({ is: "queue", count: Number(number.value) })],
    ["none-free", tokens ? "no token is free" : "no other client may enter", () => ({ is: "none-free" })],
    tokens && ["token-lost", "a token is lost", () => ({ is: "token-lost" })],
    ["all-served", "every request is served and no message is in flight", () => ({ is: "all-served" })],
  ].filter(Boolean);
}

const options = (values, any) => [any && h("option", { value: "" }, any), values.map((value) => h("option", {}, value))];

export function findView(run) {
  if (!run.setting || !run.canAct) return;
  run.pause();
  const { setting, at } = run;
  const steps = run.steps.slice(0, at);
  const entry = run.catalogueEntry;
  // Algorithms that rely on bounded delays are searched from the start only.
  const fromStart = entry?.bears.any_time === false;
  const number = h("input", { type: "number", min: 1, max: 100, value: 2, "aria-label": "How many" });
  const note = h("select", { "aria-label": "What happens" }, options(entry?.notes ?? []));
  const property = h("select", { "aria-label": "Property" }, options(entry?.properties ?? [], "any property"));
  const all = goals(run, number, note, property);
  const radio = ([is, words, , field]) => {
    const input = h("input", { type: "radio", name: "goal", value: is, onchange: choose });
    input.checked = is === "violation";
    return h("div", {}, h("label", {}, input, words), field && h("div", { class: "field", "data-goal": is }, field));
  };
  const list = h("fieldset", { class: "goals" }, h("legend", {}, h("strong", {}, "The shortest way to a state in which")), all.map(radio), h("div", { class: "field", "data-goal": "waiting inside queue" }, h("label", {}, "How many", number)));
  const may = Object.fromEntries(MAY.map(([name, , value]) => [name, h("input", { type: "number", min: 0, max: 9, value })]));
  const cancels = h("input", { type: "checkbox" });
  const told = h("div", { role: "status" });
  const begin = h("button", { class: "button main", onclick: search }, "Find");
  const figures = ["states", "depth", "states a second"].map((words) => ({ words, value: h("dd", {}, "0") }));
  const running = h("dl", { class: "finding", hidden: true }, figures.map(({ words, value }) => h("div", {}, h("dt", {}, words), value)));
  let asking = null;
  const stop = h("button", { class: "button", hidden: true, onclick: () => asking?.abort("left") }, "Stop");
  const { box, close } = dialog(
    "Find a state",
    h("p", { class: "quiet" }, fromStart ? "From the start: this algorithm relies on bounded delays. The checker looks at every possible run." : at ? `From step ${at}. The checker looks at every possible continuation.` : "From the start. The checker looks at every possible run."),
    list,
    h("details", {}, h("summary", {}, "What may happen on the way"), h("div", { class: "allowed" }, MAY.map(([name, words]) => h("label", {}, words, may[name])), h("label", {}, "clients cancel", cancels))),
    running,
    told,
    h("div", { class: "buttons" }, stop, begin),
  );
  box.classList.add("find-box");
  box.addEventListener("close", () => asking?.abort("left"));
  choose();

  function choose() {
    const chosen = list.querySelector(":checked").value;
    for (const field of list.querySelectorAll(".field")) field.hidden = !field.dataset.goal.split(" ").includes(chosen);
  }

  function progress({ states, depth }, begun) {
    const seconds = (performance.now() - begun) / 1000;
    [states, depth, Math.round(states / Math.max(seconds, 0.05))].forEach((value, index) => say(figures[index].value, count(value)));
  }

  async function search() {
    const goal = all.find(([is]) => is === list.querySelector(":checked").value)[2]();
    const allowed = { ...Object.fromEntries(MAY.map(([name]) => [name, Number(may[name].value)])), cancels: cancels.checked };
    asking = new AbortController();
    const begun = performance.now();
    let answer = null;
    let seen = { states: 0, depth: 0 };
    [begin.disabled, stop.hidden, running.hidden] = [true, false, false];
    fill(told);
    progress(seen, begun);
    stop.focus();
    try {
      const body = JSON.stringify({ ...setting, steps: fromStart ? [] : steps, goal, may: allowed });
      for await (const { event, facts } of watch("/player/find", asking.signal, body)) {
        if (event === "done") answer = facts;
        else seen = facts;
        progress(event === "done" ? { ...seen, states: facts.states ?? seen.states, depth: facts.depth ?? seen.depth } : facts, begun);
      }
      if (answer?.refusal) throw new Problem(answer);
      answer ??= { result: "stopped", why: "silent", ...seen };
    } catch (problem) {
      if (asking.signal.aborted) answer = { result: "stopped", why: "interrupt", ...seen };
      else if (problem instanceof Problem) answer = { result: "refused", message: problem.message };
      else throw problem;
    }
    [begin.disabled, stop.hidden] = [false, true];
    if (box.isConnected) await finish(answer, goal);
  }

  async function finish(answer, goal) {
    const so = answer.states === undefined ? "" : ` ${many(answer.states, "state")} explored, up to ${many(answer.depth, "step")} deep.`;
    if (answer.result === "found") {
      const before = fromStart ? [] : steps;
      if (!answer.steps.length) return void fill(told, h("p", { class: "well" }, `This state is one already.${so}`));
      close();
      // The first step of the way is one key away, and what comes is in the future of the diagram.
      await run.load(setting, [...before, ...answer.steps], before.length);
      run.found = { from: before.length, to: before.length + answer.steps.length, states: answer.states, detail: answer.detail ?? null };
      announce(`Found in ${many(answer.steps.length, "step")}${answer.detail ? `: ${answer.detail}` : ""}. ${count(answer.states)} states explored. Step forward to see it.`);
      return;
    }
    const violation = goal.is === "violation";
    const words = {
      exhausted: violation ? "No violation: every possible run was explored, and the property holds in all of them." : "There is no such state: every possible run was explored.",
      stopped: STOPPED[answer.why] ?? "The server hung up.",
      refused: answer.message,
    }[answer.result];
    const hint = answer.result === "exhausted" ? " With more requests, losses or crashes there may be one." : answer.result === "stopped" && answer.why !== "interrupt" ? " Fewer nodes or fewer requests make the search smaller." : "";
    fill(told, h("p", { class: answer.result === "refused" ? "wrong" : answer.result === "exhausted" ? "well" : "" }, words, so, hint));
    begin.focus();
  }
}
