// The overview of the cluster, and the view of one node: nodes, names and events at a glance.

import { fill, h, say } from "../dom.js";
import { count, lasted, many, time } from "../words.js";
import { Drawer } from "./drawer.js";
import { Events } from "./events.js";
import { figures } from "./figures.js";
import { fromQuery } from "./filter.js";
import { live } from "./model.js";
import { Names } from "./names.js";
import { looks } from "./tables.js";
import { Nodes, health, loads, summary } from "./nodes.js";

/** How many events fit beside the nodes. */
const EVENTS = 40;

export function overview(root, { query }) {
  const title = h("h1", {}, "Cluster");
  const facts = h("p", { class: "facts" });
  const strip = figures(live.rates);
  const [nodes, names, events] = [new Nodes(), new Names(fromQuery(query), "live"), new Events({ most: EVENTS })];
  const reach = h("p", { class: "reach" });
  const look = looks(query, () => update(new Set(["all"])));
  const left = h("div", { class: "left" }, nodes.element, events.element);
  const drawer = new Drawer(left, query);
  root.append(h("div", { class: "view overview" }, h("div", { class: "strip-top" }, h("div", { class: "title" }, title, facts), h("div", { class: "near" }, nodes.strip, reach), strip.element, drawer.button, look.buttons, strip.table), left, names.element));
  const update = (flags) => {
    if (live.cluster) {
      say(title, live.cluster.cluster);
      const key = JSON.stringify([live.cluster.view, live.cluster.leader, live.cluster.nodes.map((node) => [node.node, health(node)])]);
      if (facts.dataset.key !== key) {
        facts.dataset.key = key;
        fill(facts, summary(live.cluster));
        const well = live.cluster.nodes.filter((node) => health(node) !== "out").length;
        fill(reach, h("strong", { class: well < live.cluster.nodes.length ? "amber" : null }, `${well} of ${live.cluster.nodes.length} within reach`), h("span", {}, `view ${live.cluster.view}${live.cluster.leader === null ? "" : `, node ${live.cluster.leader} leads`}`));
      }
    }
    if (!flags.has("tick") || flags.size > 1) {
      nodes.update();
      strip.update();
      events.update();
      drawer.update();
    }
    names.update(flags);
  };
  update(new Set(["all"]));
  return {
    title: live.cluster?.cluster ?? "Live",
    update,
    search: (q) => names.change({ q }),
    query: () => names.filter.q,
    step: (by) => names.step(by),
    keys: look.keys,
    leave: () => (nodes.leave(), names.leave(), look.leave(), drawer.leave()),
  };
}

/** One node: its facts, and the names that it has to do with. */
export function nodeView(root, { match, query }) {
  const id = Number(match[1]);
  const names = new Names(fromQuery(query), `node/${id}`, { node: id });
  const facts = h("dl", { class: "node-facts" });
  const events = new Events({ most: EVENTS, node: id });
  const look = looks(query, () => update(new Set(["all"])));
  root.append(h("div", { class: "view one-node" }, h("div", { class: "strip-top" }, h("div", { class: "title" }, h("h1", {}, h("a", { class: "up", href: "/ui/live" }, "Live"), h("span", { class: "slash", "aria-hidden": "true" }, "/"), `node ${id}`)), look.buttons), h("div", { class: "left" }, h("section", { class: "panel", "aria-labelledby": "facts-title" }, h("div", { class: "bar" }, h("h2", { id: "facts-title" }, "Facts")), facts), events.element), names.element));
  const update = (flags) => {
    const node = live.cluster?.nodes.find((it) => it.node === id);
    const rows = node ? describe(node) : [["node", live.cluster ? "the cluster has no such node" : "…"]];
    const key = JSON.stringify(rows);
    if (facts.dataset.key !== key) {
      facts.dataset.key = key;
      fill(facts, rows.map(([name, value, amber]) => h("div", {}, h("dt", {}, name), h("dd", { class: amber ? "amber" : null }, value))));
    }
    events.update();
    names.update(flags);
  };
  update(new Set(["all"]));
  return { title: `node ${id}`, update, search: (q) => names.change({ q }), query: () => names.filter.q, step: (by) => names.step(by), keys: look.keys, leave: () => (names.leave(), look.leave()) };
}

function describe(node) {
  const load = loads().get(node.node) ?? { holds: 0, waits: 0 };
  const state = health(node);
  const out = node.unreachable_ms === null ? "no answer" : `out of reach for ${lasted(node.unreachable_ms)}`;
  const rows = [
    ["state", state === "out" ? out : state === "lapsed" ? "no lease: it grants nothing" : "grants", state !== "well"],
    ["clients reach it at", node.clients ?? "unknown"],
    ["member", node.member ? `yes, ${node.votes ? "votes" : "does not vote"}` : "no"],
    ["leads", live.cluster.leader === node.node ? `view ${live.cluster.view}` : "no"],
    ["holds, waits", `${count(load.holds)}, ${count(load.waits)}`],
  ];
  if (node.counts) {
    rows.push(
      ["lease left", time(Math.round(node.lease_left_ms / 100) * 100)],
      ["sessions", count(node.sessions)],
      ["names kept", count(node.names)],
      ["since its start", `${many(node.counts.grants, "grant")}, ${many(node.counts.sent, "message")} sent, ${count(node.counts.refused)} refused`],
    );
  }
  return rows;
}
