// One name in full: where its tokens are, who holds, who waits in which order, and how it was handed off.

import { Problem, ask, lockPath } from "../ask.js";
import { fill, h, keyed, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { colour, disc, slice } from "../draw/marks.js";
import { Tabs } from "../draw/tabs.js";
import { KINDS, count, fence, lasted, many, quoted, who } from "../words.js";
import { force, resize } from "./acts.js";
import { Graph } from "./graph.js";
import { HandOffs } from "./handoffs.js";
import { live, oldest } from "./model.js";
import { command, sentence } from "./states.js";
import { looks } from "./tables.js";

const ASK_EVERY = 2000;
const AFTER_EVENT = 120;
const MOST_ROWS = 100;

export function nameView(root, { match, query }) {
  let name;
  try {
    name = decodeURIComponent(match[1]);
  } catch {
    name = match[1];
  }
  const view = new NameView(root, name, query);
  return { title: name, keys: view.look.keys, update: (flags) => view.update(flags), leave: () => view.leave() };
}

class NameView {
  #lock = null;
  #asked = 0;
  #timer = 0;
  #seen = 0;
  #left = false;
  #problem = null;

  constructor(root, name, query) {
    this.name = name;
    this.chips = h("div", { class: "chips facts" });
    this.resize = h("button", { class: "button act", onclick: () => resize(name, this.#lock?.slots ?? 1, live.definitions.has(name)) }, "Resize…");
    this.force = h("button", { class: "button act danger-text", onclick: () => this.#force() }, "Force release…");
    this.graph = new Graph();
    this.graph.redraw = () => this.update();
    this.handoffs = new HandOffs(query.get("span") ?? "30s");
    this.handoffs.redraw = () => this.update();
    this.inside = table("Holders", ["slot", "node", "who", "client", "fence", "for", ""]);
    this.queue = table("Queue", ["place", "node", "who", "client", "next by", "for"]);
    this.look = looks(query, () => this.update());
    this.tabs = new Tabs("What of it", [["holders", "Holders", this.inside], ["queue", "Queue", this.queue], ["where", "Where", this.graph], ["handoffs", "Hand-offs", this.handoffs]].map(([key, word, { element: panel }]) => ({ key, word, panel })), { chosen: query.get("tab") });
    this.trouble = h("p", { class: "wrong", role: "alert" });
    this.refusal = h("section", { class: "panel state", role: "alert", hidden: true });
    this.element = root.appendChild(
      h(
        "div",
        { class: "view one-name" },
        h("div", { class: "strip-top" }, h("div", { class: "title" }, h("h1", {}, h("a", { class: "up", href: "/ui/live" }, "Live"), h("span", { class: "slash", "aria-hidden": "true" }, "/"), name)), this.chips, h("div", { class: "acts" }, command(`tokenwood inspect ${quoted(name)}`), this.resize, this.force, this.look.buttons), this.trouble),
        this.refusal,
        this.tabs.element,
        this.graph.element,
        h("div", { class: "tables" }, this.inside.element, this.queue.element),
        this.handoffs.element,
      ),
    );
    this.tabs.apply();
    live.show([name]);
    this.#ask();
  }

  leave() {
    this.#left = true;
    clearTimeout(this.#timer);
    live.show([]);
    this.look.leave();
    this.tabs.leave();
  }

  #later(ms) {
    clearTimeout(this.#timer);
    if (!this.#left) this.#timer = setTimeout(() => this.#ask(), ms);
  }

  async #ask() {
    if (live.heldAt !== null || document.hidden || live.problem?.status === 401) return this.#later(ASK_EVERY);
    try {
      const lock = await ask(lockPath(this.name));
      if (this.#left || live.heldAt !== null) return this.#later(ASK_EVERY);
      [this.#lock, this.#asked, this.#problem] = [lock, Date.now(), null];
      this.handoffs.sample(this.#asked, lock.clients.filter((client) => client.state === "waits").length);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.#problem = problem;
    }
    this.update();
    this.#later(ASK_EVERY);
  }

  #force() {
    const held = this.#lock?.clients.filter((client) => client.state === "holds") ?? [];
    if (held.length) force(this.name, oldest(held));
  }

  update(flags) {
    const last = live.events.findLast((event) => event.name === this.name)?.number ?? 0;
    if (flags?.has("events") && last > this.#seen) {
      this.#seen = last;
      this.#later(AFTER_EVENT);
    }
    const [lock, problem] = [this.#lock, this.#problem?.silent ? null : this.#problem];
    say(this.trouble, lock && problem ? sentence(problem.message) : "");
    this.#refuse(lock ? null : problem);
    if (!lock) return;
    const now = live.now();
    const aged = (client) => client.since_ms + Math.max(0, now - this.#asked);
    const holders = lock.clients.filter((client) => client.state === "holds").sort((a, b) => a.slot - b.slot);
    const waiters = lock.clients.filter((client) => client.state === "waits");
    this.#facts(lock, holders);
    this.graph.update(live.cluster?.nodes, lock);
    this.tabs.say("holders", count(holders.length));
    this.tabs.say("queue", count(waiters.length));
    const slots = lock.kind === "semaphore" ? ` of ${many(lock.slots, "slot")}` : "";
    const silent = lock.no_answer.length ? `; node ${lock.no_answer.join(", ")} gave no answer, its clients are missing` : "";
    say(this.inside.note, `${holders.length ? `${count(holders.length)}${slots}` : "free"}${silent}`);
    say(this.queue.note, waiters.length ? `${count(waiters.length)} ${waiters.length === 1 ? "waits" : "wait"}, the longest for ${lasted(aged(oldest(waiters)))}` : "none waits");
    rows(this.inside, holders, (client) => this.#holder(client, lock), (row, client) => say(row.age, lasted(aged(client))));
    rows(this.queue, waiters, (client, at) => waiter(client, at, lock), (row, client, at) => {
      say(row.age, lasted(aged(client)));
      say(row.firstChild, String(at + 1));
      const next = nextBy(client, lock);
      if (row.next.dataset.key !== String(next)) {
        row.next.dataset.key = String(next);
        row.node.className = `disc waits ${colour(next)}`;
        fill(row.next, next === null ? h("span", { class: "quiet" }, "–") : slice(next, false, `slot ${next}`));
      }
    });
    const events = live.events.filter((event) => event.name === this.name);
    this.handoffs.update(events, lock, this.#asked, now);
  }

  /** There is nothing to show: why, and the way on. */
  #refuse(problem) {
    this.element.classList.toggle("refused", Boolean(problem));
    this.refusal.hidden = !problem;
    if (!problem || this.refusal.dataset.why === problem.message) return;
    this.refusal.dataset.why = problem.message;
    const may = problem.status === 403;
    fill(this.refusal, may ? icon("key", 30) : h("span", { class: "bang", "aria-hidden": "true" }, "!"), h("h2", {}, may ? `You may not look at ${this.name}` : problem.title || "The node refuses"), h("p", {}, sentence(problem.message)), may && [h("p", { class: "quiet" }, "An administrator allows it:"), command(`tokenwood auth rule add WHO ${quoted(this.name)} read`)]);
  }

  #facts(lock, holders) {
    const defined = live.definitions.has(this.name);
    const open = holders.find((client) => client.group)?.group;
    const facts = [lock.kind ? KINDS[lock.kind] : "free: it can become anything", lock.kind === "semaphore" && many(lock.slots, "slot"), open && `group ${open} is open`, defined && "defined", lock.home !== null && `home: node ${lock.home}`].filter(Boolean);
    keyed(this.chips, facts, (text) => text, (text) => h("span", { class: "fact" }, text));
    this.resize.hidden = lock.kind !== "semaphore" && lock.kind !== "mutex";
    say(this.resize, defined ? "Resize…" : "Define…");
    this.force.disabled = holders.length === 0;
  }

  #holder(client) {
    const age = h("td", { class: "number" });
    const button = h("button", { class: "round small act", "aria-label": `Force release of slot ${client.slot}`, title: `Force release of slot ${client.slot}`, onclick: () => force(this.name, client) }, "···");
    const row = h("tr", {}, h("td", {}, slice(client.slot, true, `slot ${client.slot}`)), h("td", {}, disc(client.node, "in", { token: client.slot, name: `node ${client.node}` })), whoCell(client, [client.group]), h("td", { class: "quiet" }, clientId(client)), h("td", {}, h("code", { title: `the whole number: ${client.fence}` }, fence(client.fence))), age, h("td", { class: "last" }, button));
    return Object.assign(row, { age });
  }
}

const clientId = (client) => (client.session === undefined ? "–" : `${client.session}/${client.request}`);

/** What a client calls itself, what it asked for, and where it is: the last is cut off first. */
function whoCell(client, groups) {
  const { name, at } = who(client.label);
  return h("td", { class: "who" }, h("span", {}, name), groups.map((group) => group && h("span", { class: "group-name" }, group)), client.mode && h("span", { class: "word" }, client.mode === "shared" ? "reads" : "writes"), client.revoked && h("span", { class: "amber" }, "revoked"), h("span", { class: "quiet" }, at));
}

function waiter(client) {
  const [age, next, node] = [h("td", { class: "number" }), h("td", {}), disc(client.node, "waits", { name: `node ${client.node}` })];
  const row = h("tr", {}, h("td", { class: "quiet" }), h("td", {}, node), whoCell(client, client.groups), h("td", { class: "quiet" }, clientId(client)), next, age);
  return Object.assign(row, { age, next, node });
}

/** The slot whose token comes to the node of a waiter next, if a token has that node in its queue or is there. */
function nextBy(client, lock) {
  const queued = lock.tokens.filter((it) => it.next.includes(client.node));
  const best = queued.sort((a, b) => a.next.indexOf(client.node) - b.next.indexOf(client.node))[0] ?? lock.tokens.find((it) => it.node === client.node);
  return best ? best.slot : null;
}

function table(title, columns) {
  const note = h("p", { class: "quiet" });
  const body = h("tbody", {});
  const rest = h("p", { class: "quiet rest" });
  const head = h("thead", {}, h("tr", {}, columns.map((text) => (text ? h("th", { scope: "col", class: text === "for" ? "number" : null }, text) : h("td", {})))));
  const element = h("section", { class: "panel clients", "aria-label": title }, h("div", { class: "bar" }, h("h2", {}, title), note), h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, h("table", {}, head, body), rest));
  return { element, body, note, rest };
}

function rows(into, clients, make, update) {
  const shown = clients.slice(0, MOST_ROWS);
  const at = new Map(shown.map((client, index) => [client, index]));
  const key = (client) => [client.node, client.session, client.request, client.slot, client.fence, client.revoked, client.label?.words, client.session === undefined ? at.get(client) : ""].join("/");
  keyed(into.body, shown, key, (client) => make(client, at.get(client)), (row, client) => update(row, client, at.get(client)));
  say(into.rest, clients.length > shown.length ? `+ ${count(clients.length - shown.length)} more` : "");
}
