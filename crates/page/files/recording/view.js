// A recording of the swarm or of a cluster: its time line, the events as a list, and what is shown of them.

import { fill, h, s } from "../dom.js";
import { command } from "../live/states.js";
import { looks, place as tablePlace, tabled } from "../live/tables.js";
import { address, replace } from "../router.js";
import { clock, count, many } from "../words.js";
import { Line } from "./line.js";
import { COLUMNS, exportLine, rows } from "./picture.js";
import { Recording } from "./read.js";
import { KINDS, seconds } from "./says.js";

// The place in a recording is a part of its address, so that a reload and a link show the same. A file that was opened is gone after a
// reload: its address says nothing.
const isServed = () => /^\/ui\/recording\/?$/.test(location.pathname);
/** The address follows a moment later: browsers allow few changes in a second. */
const LATER = 250;

const kinds = Object.keys(KINDS);
const word = (it) => String(it).toLowerCase();
const shown = (all, hidden) => (hidden.size ? all.filter((it) => !hidden.has(it)).map(word).join(",") || "none" : "");
const short = (time) => String(Number(time.toFixed(6)));

/** Goes where the address says. Returns whether it names an event. */
function restore(line) {
  const query = new URLSearchParams(isServed() ? location.search : "");
  const { data, hidden } = line;
  const leave = (all, wanted, out) => wanted && all.forEach((it) => wanted.split(",").includes(word(it)) || out.add(it));
  if (data.names.includes(query.get("name"))) line.name = query.get("name");
  leave(data.nodes, query.get("nodes"), hidden.nodes);
  leave(kinds, query.get("kinds"), hidden.kinds);
  const [from, span, at] = ["from", "span", "at"].map((name) => Number(query.get(name)));
  if (span > 0 && from >= 0) line.window = [from, span];
  const names = Number.isInteger(at) && at > 0 && at <= data.events.length;
  if (names) [line.events, line.at] = [data.events, at - 1];
  return names;
}

/** Keeps the address at the place of a line. */
function keeper(line) {
  let later = null;
  const write = () => {
    later = null;
    const { data, hidden, name, span, end } = line;
    const [lo] = line.window;
    const at = data.events.indexOf(line.events[line.at]) + 1;
    replace(address("recording", { at: at ? String(at) : "", ...(span < end ? { from: short(lo), span: short(span) } : {}), name, nodes: shown(data.nodes, hidden.nodes), kinds: shown(kinds, hidden.kinds) }));
  };
  return {
    keep: () => isServed() && (later ??= setTimeout(write, LATER)),
    leave: () => clearTimeout(later),
  };
}

/** A menu of boxes: nodes and kinds that are shown. */
function menu(line) {
  const part = (title, all, hidden) => h("fieldset", {}, h("legend", {}, title), all.map((it) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: !hidden.has(it), onchange: ({ target }) => (hidden[target.checked ? "delete" : "add"](it), line.choose()) }), String(it))));
  const summary = h("summary", { class: "pair" }, "Nodes and kinds");
  const element = h("details", { class: "time-menu rec-menu", onkeydown: (event) => event.key === "Escape" && ((element.open = false), summary.focus()) }, summary, h("div", { class: "time-box" }, part("Nodes", line.data.nodes, line.hidden.nodes), part("Kinds", kinds, line.hidden.kinds)));
  return element;
}

const BOX = "M1 1h20v10h-20z";
const LEGEND = { alive: ["runs", BOX], leads: ["leads", "M0 5h22v2.5h-22z"], grant: ["holds", "M0 3h22v6h-22z"], before: ["since before the recording", "M6 6l6 -5v10z"], maybe: ["not known whether it holds", "M1 3h20v6h-20z"], wait: ["waits"], lapsed: ["no lease", BOX], silent: ["no answer", BOX, "hush"], out: ["out of the view", BOX], gone: ["does not run"], still: ["stands still", "M2 11l10 -10M8 11l10 -10M14 11l8 -8"], cut: ["does not reach the leader"], part: ["partition", "M1 2v8M1 6H21M21 2v8"] };

/** What the marks mean that a recording has. */
function legend({ bands, grants, waits, partitions }) {
  const has = new Set(["alive", ...bands.map((it) => (it.kind === "down" ? "gone" : it.kind)), grants.length && "grant", grants.some((it) => it.before) && "before", grants.some((it) => it.how === "no_answer") && "maybe", waits.length && "wait", partitions.length && "part"]);
  const mark = (kind, d = "M0 6h22") => s("path", { class: `rec ${kind} pine`, d });
  return Object.entries(LEGEND).filter(([kind]) => has.has(kind)).map(([kind, [words, d, over]]) => h("span", {}, s("svg", { width: 22, height: 12, "aria-hidden": "true" }, mark(kind, d), over && mark(over)), words));
}

/** Shows the text of a recording instead of what is there. Throws what is wrong with it. */
export function show(root, text, name) {
  const data = new Recording(text);
  const { header } = data;
  const line = new Line(data);
  const isPlaced = restore(line);
  const button = (words, call) => h("button", { class: "button", onclick: call }, words);
  const names = h("select", { id: "rec-name", onchange: () => ((line.name = names.value), line.choose()) }, h("option", { value: "" }, data.names.length ? `${data.names.length > 1 ? "all " : ""}${many(data.names.length, "name")}` : "no names"), data.names.map((it) => h("option", { value: it, selected: it === line.name }, it)));
  const zoom = (words, sign, by) => h("button", { "aria-label": words, title: words, onclick: () => line.zoom(by) }, sign);
  const facts = [header.began_unix_seconds && `began at ${clock(header.began_unix_seconds * 1000)}`, seconds(data.last), many(data.nodes.length, "node"), many(data.views.length, "view"), many(data.events.length, "event"), (header.names || header.prefixes) && "some names only", !data.grants.length && !data.waits.length && "nothing is held or waited for"].filter(Boolean);
  const unlisted = data.unlisted.length && `What was held before is not known${data.unlisted.length < data.nodes.length ? ` of node ${data.unlisted.join(", ")}` : ""}.`;
  const amber = [data.missed > 0 && `${many(data.missed, "event is", "events are")} missing.`, unlisted, !data.complete && "The recording was cut off."].filter(Boolean).join(" ");
  const found = data.findings.length;
  const look = looks(new URLSearchParams(location.search), () => line.draw());
  const [table, kept] = [tablePlace("Time"), keeper(line)];
  line.onmove = kept.keep;
  line.onchange = (seen) => {
    kept.keep();
    line.rows.inert = tabled();
    table.update(COLUMNS, tabled() ? rows(seen) : []);
  };
  const nextFinding = () => line.find(1, "finding") || line.find(-1, "finding");
  const element = h(
    "div",
    { class: "view recording" },
    h("header", { class: "rec-title" }, h("h1", {}, header.title), h("p", { class: "quiet" }, `${name ? `${name}: ` : ""}${facts.join(", ")}. `, amber && h("span", { class: "amber" }, amber)), header.command && command(header.command)),
    h("div", { class: "rec-tools" }, h("label", { class: "rec-pick", for: "rec-name" }, "Name ", names), menu(line), h("div", { class: "pair", role: "group", "aria-label": "Zoom of time" }, h("span", { class: "quiet" }, "zoom"), zoom("More time", "−", -1), line.zoomed, zoom("Less time", "+", 1)), look.buttons, h("button", { class: "button small", title: "Export pictures (X)", onclick: () => exportLine(line) }, "Export"), h("span", { class: "rec-go" }, button("Previous", () => line.go(line.at - 1)), button("Next", () => line.go(line.at + 1)), line.where, found > 0 && h("button", { class: "button danger-text", onclick: nextFinding }, found > 1 ? `Next of ${count(found)} findings` : "Show the finding"))),
    h("section", { class: "panel rec-time-line", "aria-label": "Time" }, h("div", { class: "rec-plot" }, line.axis, line.rows, line.times, line.head, table.element), line.slider, line.sentence, h("p", { class: "rec-legend quiet" }, legend(data), line.folds)),
    line.list,
  );
  fill(root, element);
  document.title = `${header.title} · Tokenwood`;
  line.choose();
  if (found && !isPlaced) line.go(line.events.findIndex((it) => it.event === "finding"));
  const keys = Object.entries({
    ArrowRight: ["next event", () => line.go(line.at + 1)],
    ArrowLeft: ["previous event", () => line.go(line.at - 1)],
    Home: ["first event", () => line.go(0)],
    End: ["last event", () => line.go(line.events.length - 1)],
    "Shift ArrowRight": ["next grant", () => line.find(1, "granted")],
    "Shift ArrowLeft": ["previous grant", () => line.find(-1, "granted")],
    F: ["next finding", nextFinding],
    "]": ["zoom in", () => line.zoom(1)],
    "[": ["zoom out", () => line.zoom(-1)],
    X: ["export pictures", () => exportLine(line)],
  }).map(([name, [words, call]]) => ({ name, words, call }));
  const leave = () => [line, kept, look].forEach((it) => it.leave());
  return { title: header.title, keys: [...keys, ...look.keys], ownKeys: true, leave };
}
