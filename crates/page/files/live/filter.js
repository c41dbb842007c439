// Which names are shown, and in which order.

import { age, oldest } from "./model.js";

export const SORTS = {
  waiting: "most waiting",
  longest: "longest wait",
  held: "held longest",
  grants: "most grants",
  name: "name",
};

export const USUAL = "waiting";

/** What an address asks for. */
export function fromQuery(query) {
  const kind = query.get("kind");
  const sort = query.get("sort");
  return {
    q: query.get("q") ?? "",
    kind: ["mutex", "semaphore", "rwlock", "room"].includes(kind) ? kind : "",
    waits: query.get("waits") === "1",
    sort: sort in SORTS ? sort : USUAL,
  };
}

export const toQuery = ({ q, kind, waits, sort }) => ({ q, kind, waits, sort: sort === USUAL ? "" : sort });

/** Every word has to be in the name. */
export function matches(entry, { q, kind, waits, node }) {
  if (kind && entry.kind !== kind) return false;
  if (waits && entry.waiters.length === 0) return false;
  if (node !== undefined && !entry.clients.some((client) => client.node === node)) return false;
  if (!q) return true;
  const name = entry.name.toLowerCase();
  return q.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}

const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const sum = (bins) => (bins ? [...bins.values()].reduce((all, one) => all + one, 0) : 0);
const longest = (entry, clients) => (clients.length ? age(entry, oldest(clients)) : -1);

const KEYS = {
  waiting: (entry) => entry.waiters.length,
  longest: (entry) => longest(entry, entry.waiters),
  held: (entry) => longest(entry, entry.holders),
  grants: (entry) => sum(entry.bins),
};

/** The names that are shown, in their order. */
export function select(names, filter) {
  const found = [];
  for (const entry of names.values()) if (matches(entry, filter)) found.push(entry);
  const key = KEYS[filter.sort];
  if (!key) return found.sort(byName);
  const keys = new Map(found.map((entry) => [entry, key(entry)]));
  return found.sort((a, b) => keys.get(b) - keys.get(a) || byName(a, b));
}

/** How many names there are of each kind, and with waiters. */
export function tally(names, fixed) {
  const counts = { all: 0, waits: 0, mutex: 0, semaphore: 0, rwlock: 0, room: 0 };
  for (const entry of names.values()) {
    if (!matches(entry, fixed)) continue;
    counts.all += 1;
    counts[entry.kind] += 1;
    if (entry.waiters.length) counts.waits += 1;
  }
  return counts;
}
