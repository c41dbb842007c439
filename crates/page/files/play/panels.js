// Panels beside the graph: each node in words, messages in flight, the rules with the one that ran, and the properties in this
// very state.

import { fill, h, keyed, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { colour, slice } from "../draw/marks.js";
import { count, many } from "../words.js";
import { firstAct, messageActs, messageMenu, nodeButtons, toMessage } from "./acts.js";
import { numbered, tone, wrong } from "./looks.js";
import { struck } from "./printed.js";

const panel = (name, title, ...children) => h("section", { class: `panel ${name}`, "aria-labelledby": `${name}-title` }, h("div", { class: "bar" }, h("h2", { id: `${name}-title` }, title), h("p", { class: "quiet" })), children);
const dash = () => h("span", { class: "quiet", "aria-label": "none" }, "–");

/** Nodes as a table: the form of the client, tokens, what it asks for, where it points, and what one can do. */
export class Nodes {
  constructor(run) {
    this.run = run;
    this.head = h("tr", {});
    this.body = h("tbody", {});
    this.chosen = h("div", { class: "chosen-node" });
    this.element = panel("of-nodes", "Nodes", h("div", { class: "scroll", tabindex: 0 }, h("table", {}, h("thead", {}, this.head), this.body)), this.chosen);
  }

  update(state) {
    const { run } = this;
    const entry = run.catalogueEntry;
    const byGroup = entry?.kind === "group-mutex";
    const queues = !numbered(run) && state.nodes.some((node) => node.queue.length);
    const columns = [
      ["node", (node, number) => h("button", { class: "pick", "aria-pressed": String(run.chosen === number), "aria-label": `Choose node ${number}`, onclick: () => run.choose(run.chosen === number ? null : number) }, String(number))],
      ["client", (node) => this.#client(node)],
      entry?.tokens !== "none" && ["has", (node) => (node.tokens.length ? node.tokens.slice(0, 3).map((token) => slice(token, node.is === "inside", `token ${token}`)) : dash())],
      numbered(run) && ["asks", (node) => (node.asks === null ? dash() : slice(node.asks, false, `token ${node.asks}`))],
      byGroup && ["group", (node) => (node.group ?? (node.groups.join(", ") || dash()))],
      state.nodes.some((node) => node.pointers.length) && ["points to", (node, number) => this.#pointers(node, number)],
      queues && ["queue", (node) => (node.queue.length ? node.queue.map((it) => it.node).join(" ") : dash())],
      run.canAct && ["", (node, number) => firstAct(run, state, number)],
    ].filter(Boolean);
    fill(this.head, columns.map(([name]) => (name ? h("th", { scope: "col" }, name) : h("td", {}, h("span", { class: "hidden-text" }, "act")))));
    // What has the focus must stay: a row is drawn anew only if it changed.
    keyed(this.body, state.nodes.map((node, number) => ({ node, number })), ({ number }) => number, () => h("tr", {}), (row, { node, number }) => {
      const key = JSON.stringify([node, columns.map(([name]) => name), run.chosen === number, run.setting, wrong(state)?.name, state.can.filter((it) => it.node === number && it.message === null)]);
      row.className = `${run.chosen === number ? "chosen" : ""} ${node.is} ${wrong(state) && node.is === "inside" ? "bad" : ""}`;
      if (row.key === key) return;
      row.key = key;
      const step = row.contains(document.activeElement) ? document.activeElement.closest("td, th")?.cellIndex : undefined;
      fill(row, columns.map(([, cell], index) => h(index ? "td" : "th", index ? { "data-column": columns[index][0] } : { scope: "row" }, cell(node, number))));
      if (step !== undefined) (row.cells[step]?.querySelector("button") ?? row.querySelector("button"))?.focus();
    });
    this.#chosen(state);
  }

  #client(node) {
    const words = { inside: "inside", waits: "waits", crashed: "crashed", out: "outside" };
    const several = this.run.setting.clients > 1 && node.is !== "crashed" && node.clients.filter((client) => client.is !== "out").length > 1;
    return several ? h("span", { class: "pips-row" }, node.clients.filter((client) => client.is !== "out").map((client) => h("span", { class: `disc ${client.is === "inside" ? "in" : "waits"} ${colour(tone(this.run.catalogueEntry, node, client))}`, role: "img", "aria-label": `client ${client.client} ${words[client.is]}` }, String(client.client)))) : words[node.is] ?? node.is;
  }

  #pointers(node, number) {
    if (!node.pointers.length) return dash();
    const byToken = numbered(this.run);
    return h("span", { class: "ways-row" }, node.pointers.slice(0, 4).map(({ name, token, to }) => h("code", { class: byToken ? `hop ${colour(token)}` : "hop", title: byToken ? `${name} for token ${token}` : name }, `${byToken ? `${token}→` : ""}${to === number ? "me" : to}`)), node.pointers.length > 4 && "…");
  }

  #chosen(state) {
    const { run } = this;
    const number = run.chosen;
    const node = state.nodes[number];
    const key = JSON.stringify([number, node, run.setting, state.can.filter((it) => it.node === number && it.message === null)]);
    if (this.chosen.key === key) return;
    this.chosen.key = key;
    if (!node) {
      fill(this.chosen, h("p", { class: "quiet" }, run.canAct ? "Choose a node for more: crash, timers, choices." : "Choose a node to read its state."));
      return;
    }
    const step = this.chosen.contains(document.activeElement) ? document.activeElement.dataset.step : null;
    const facts = node.facts.map(([name, value]) => `${name} ${value}`);
    const ties = node.ties.slice(0, 12).map(({ name, to }) => `${name} ${to}`);
    const keeps = node.keeps.map((it) => (typeof it === "object" ? it.node ?? it.text : it)).join(", ");
    fill(this.chosen, h("p", {}, node.words, keeps && ` It keeps for later: ${keeps}.`), facts.length + ties.length > 0 && h("p", { class: "quiet small-text" }, [...facts, ...ties].join(" · ")), run.canAct && h("div", { class: "acts-row" }, nodeButtons(run, state, number)));
    if (step) (this.chosen.querySelector(`[data-step="${CSS.escape(step)}"]`) ?? this.chosen.querySelector("button"))?.focus();
  }
}

/** Messages in flight, the oldest first. */
export class Flight {
  constructor(run) {
    this.run = run;
    this.list = h("ol", { class: "flights" });
    this.element = panel("in-flight", "In flight", h("div", { class: "scroll", tabindex: 0 }, this.list));
    this.told = this.element.querySelector("p");
  }

  update(state) {
    const { run } = this;
    const total = state.flight.length + state.more_flight;
    this.element.classList.toggle("none", !total);
    say(this.told, total ? many(total, "message") : "no message is under way");
    keyed(this.list, state.flight.slice(0, 200), (it) => it.id, () => h("li", {}), (row, it) => {
      const can = messageActs(state, it.id);
      const key = JSON.stringify([it, can, run.setting.links]);
      row.className = run.message === it.id ? "chosen" : "";
      if (row.key === key) return;
      row.key = key;
      const deliver = can.find((act) => act.kind === "deliver");
      const more = h("button", { class: "round small", "aria-label": `More for ${it.text} from ${it.from} to ${it.to}`, "aria-haspopup": "menu", disabled: !can.length, onclick: () => messageMenu(run, run.current ?? state, it, more) }, icon("more"));
      const button = h("button", { class: "button small", disabled: !deliver, "aria-label": `Deliver ${it.text} from ${it.from} to ${it.to}`, title: deliver ? deliver.step : "an older message of this link comes first", "data-step": deliver?.step, onfocus: () => run.chooseMessage(it.id), onclick: () => toMessage(run, run.current ?? state, it.id, "deliver", button) }, "Deliver");
      const mark = it.token !== null ? slice(it.token, true, `token ${it.token}`) : h("span", { class: `open-dot ${colour(it.asks ?? null)}`, "aria-hidden": "true" });
      fill(row, h("code", {}, `${it.from} → ${it.to}`), mark, h("span", { class: "text", title: `${it.text}, sent in step ${it.since}` }, it.text), run.canAct && [button, more]);
    });
    if (total > 200 && !this.more) this.list.after((this.more = h("p", { class: "quiet rest" })));
    if (this.more) say(this.more, total > 200 ? `and ${count(total - 200)} more` : "");
  }
}

/** What a rule was about, in words: its letters differ from text to text. */
const BOUND = { me: "at node", from: "from", origin: "request of", token: "token", held: "had token", asked: "asked for token", client: "client", group: "group" };
export const bound = (bind) => Object.entries(BOUND).filter(([name]) => name in bind).map(([name, words]) => `${words} ${bind[name]}`).join(", ");

/** The rules; the one that ran is open, with what it was about. */
export class Rules {
  constructor(run) {
    this.run = run;
    this.list = h("ol", { class: "rule-list" });
    this.element = panel("of-rules", "Rules", h("div", { class: "scroll", tabindex: 0 }, this.list));
    this.told = this.element.querySelector("p");
    this.open = new Set();
  }

  update(state) {
    const { run } = this;
    say(this.told, `${run.catalogueEntry?.source ?? ""}${run.setting.defect ? `; with ${run.setting.defect}` : ""}`);
    this.told.title = this.told.textContent;
    const ran = state.rule;
    keyed(this.list, run.rules, (rule) => `${run.setting.algorithm} ${rule.number}`, () => h("li", {}), (row, rule) => {
      const is = ran?.number === rule.number ? "ran" : ran?.then.includes(rule.number) ? "then" : "";
      const open = Boolean(is) || this.open.has(rule.number) !== Boolean(rule.changes?.length);
      const node = ran ? state.nodes[ran.bind.me] : null;
      const key = JSON.stringify([is && ran, is && state.at, open, rule]);
      if (row.key === key) return;
      row.key = key;
      row.className = `${is} ${open ? "open" : ""} ${rule.changes?.length ? "misprinted" : ""} ${is === "ran" && node ? colour(ran.bind.token ?? ran.bind.held ?? node.tokens[0] ?? null) : ""}`;
      const bind = is === "ran" ? bound(ran.bind) : "";
      const parts = rule.parts.map((part, index) => h("li", { class: is === "ran" && ran.part === index + 1 ? "part-ran" : "" }, struck(part, rule.changes, index + 1)));
      const title = h("button", { class: "rule-title", "aria-expanded": String(open), onclick: () => {
        if (!this.open.delete(rule.number)) this.open.add(rule.number);
        this.update(this.run.current ?? state);
      } }, h("b", {}, rule.title || `Rule ${rule.number}`));
      fill(row, h("span", { class: "rule-number" }, String(rule.number)), h("div", { class: "rule" }, title, is === "ran" && h("span", { class: "hidden-text" }, " (ran) "), bind && h("code", { class: "bind quiet" }, bind), h("span", { class: "rule-text" }, open ? struck(rule.text, rule.changes) : ` ${rule.text || rule.parts[0] || ""}`), open && parts.length > 0 && h("ol", { class: "parts" }, parts)));
      // The list goes to the rule by itself; the page around it stays where it is.
      if (is === "ran") requestAnimationFrame(() => {
        const box = this.list.parentElement;
        const [from, to] = [row.offsetTop - this.list.offsetTop, row.offsetTop - this.list.offsetTop + row.offsetHeight];
        if (from < box.scrollTop || to > box.scrollTop + box.clientHeight) box.scrollTop = from;
      });
    });
  }
}

const VERDICTS = { holds: ["check", "holds"], violated: ["close", "violated"], unknown: ["hollow", "only a search can tell"] };

/** The properties, with the verdict of this very state. */
export class Properties {
  constructor(run) {
    this.run = run;
    this.bad = h("div", { class: "bad-list" });
    this.list = h("ul", { class: "verdicts" });
    this.seen = h("div", { class: "seen", tabindex: 0, role: "group", "aria-label": "Seen so far" });
    this.element = panel("of-properties", "Properties", h("div", { class: "scroll", tabindex: 0 }, this.bad, this.list), this.seen);
    this.told = this.element.querySelector("p");
  }

  update(state) {
    const { beyond } = state;
    const key = JSON.stringify([state.properties, state.seen, beyond]);
    if (this.key === key) return;
    this.key = key;
    const bad = state.properties.filter((property) => property.verdict === "violated");
    this.element.classList.toggle("violated", bad.length > 0);
    say(this.told, bad.length ? `${count(bad.length)} violated in this state` : "in this state; a ring needs a search");
    this.told.className = bad.length ? "red" : "quiet";
    fill(this.bad, bad.map(({ name, detail }) => h("div", { class: "bad-one" }, icon("close"), h("div", {}, h("strong", { class: "red" }, name), h("p", {}, detail), beyond && h("p", {}, h("strong", {}, "Beyond its claim: "), `the algorithm does not claim to bear step ${beyond.at}, ${beyond.step}.`)))));
    fill(this.list, state.properties.filter((property) => property.verdict !== "violated").map(({ name, verdict }) => h("li", { class: verdict }, icon(VERDICTS[verdict][0], 14), h("span", {}, name), h("span", { class: "hidden-text" }, `: ${VERDICTS[verdict][1]}`))));
    fill(this.seen, state.seen.map((note) => h("span", { class: "seen-chip" }, `seen: ${note}`)));
  }
}
