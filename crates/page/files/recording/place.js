// The place in a recording as a part of its address, so that a reload and a link show the same: cursor, window of time, and what
// is left out. Only for a recording that the server has; a file that was opened is gone after a reload.

import { address, replace } from "../router.js";
import { KINDS } from "./says.js";

const isServed = () => /^\/ui\/recording\/?$/.test(location.pathname);
/** The address follows a moment later: browsers allow few changes in a second. */
const LATER = 250;

const kinds = Object.keys(KINDS);
const word = (it) => String(it).toLowerCase();
const shown = (all, hidden) => (hidden.size ? all.filter((it) => !hidden.has(it)).map(word).join(",") || "none" : "");
const short = (time) => String(Number(time.toFixed(6)));

/** Goes where the address says. Returns whether it names an event. */
export function restore(line) {
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
export function keeper(line) {
  let later = null;
  const write = () => {
    later = null;
    const { data, hidden, name, span, end } = line;
    const [lo] = line.window;
    const at = data.events.indexOf(line.events[line.at]) + 1;
    replace(address("recording", { at: at && String(at), ...(span < end ? { from: short(lo), span: short(span) } : {}), name, nodes: shown(data.nodes, hidden.nodes), kinds: shown(kinds, hidden.kinds) }));
  };
  return {
    keep: () => isServed() && (later ??= setTimeout(write, LATER)),
    leave: () => clearTimeout(later),
  };
}
