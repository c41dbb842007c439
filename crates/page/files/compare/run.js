// Two runs under one load: entries as they arrive, and what can be counted at each of them.

import { Problem, watch } from "../ask.js";

export class Compared {
  entries = [];
  done = null;
  /** For each side, once the run is whole: waits of each entry, their mean so far, and who is inside when. */
  sides = null;

  constructor(request) {
    this.request = request;
  }

  /** Asks, and calls `told` after each entry and at the end. */
  async ask(signal, told) {
    for await (const { event, facts } of watch("/player/compare", signal, JSON.stringify(this.request))) {
      if (signal.aborted) return;
      if (event === "entry") this.entries.push(facts);
      else if (event === "refusal") throw new Problem({ ...facts, status: 422 });
      else if (event === "done") {
        this.done = facts;
        const end = Math.max(...facts.a.times.slice(-1), ...facts.b.times.slice(-1), 0);
        this.sides = { a: measures(facts.a, end), b: measures(facts.b, end) };
      }
      told();
    }
    if (!this.done && !signal.aborted) throw new Problem({ detail: "the comparison broke off", status: 500 });
  }
}

/** Every entry with its wait: from the step of its request to the step of its entry, in simulated time. */
function measures({ outline, times }, end) {
  const time = (step) => (step ? times[step - 1] : 0);
  const begun = new Map(outline.waits.filter(([, , , to]) => to !== null).map(([node, client, from, to]) => [`${node}.${client}.${to}`, from]));
  const waits = outline.bars.map(([node, client, from]) => {
    const since = begun.get(`${node}.${client}.${from}`);
    return since === undefined ? 0 : time(from) - time(since);
  });
  let sum = 0;
  const means = waits.map((wait, index) => (sum += wait) / (index + 1));
  const changes = outline.bars.flatMap(([, , from, to]) => [[time(from), 1], ...(to === null ? [] : [[time(to), -1]])]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { waits, means, inside: parts(changes, end, times.at(-1) ?? 0) };
}

/** How many are inside on average in each part of the time: the lines of two runs that jump could not be told apart. One run may
 * end earlier. */
function parts(changes, end, last, number = 30) {
  const found = [];
  let [inside, next] = [0, 0];
  for (let part = 0; part < number; part += 1) {
    const [from, to] = [(end * part) / number, Math.min(last, (end * (part + 1)) / number)];
    let [at, sum] = [from, 0];
    for (; next < changes.length && changes[next][0] < to; next += 1) {
      sum += inside * (changes[next][0] - at);
      at = changes[next][0];
      inside += changes[next][1];
    }
    found.push([(end * (part + 0.5)) / number, from < last ? (sum + inside * (to - at)) / (to - from) : null]);
  }
  return found;
}
