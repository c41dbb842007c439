// What a state looks like in marks: which colour says which token, and what a node is in a word.

import { colour } from "../draw/marks.js";

/** The number that says the colour of a client: its group, its slot, or its token; null where nothing tells clients apart. */
export function tone(entry, node, client = null) {
  const is = client?.is ?? node.is;
  const one = client ?? node.clients.find((it) => it.is === is) ?? null;
  if (entry?.kind === "group-mutex") return is === "inside" ? one?.group ?? node.group : one?.groups?.[0] ?? node.groups[0] ?? null;
  if (is === "inside" && entry?.many_clients && one?.slot !== null && one?.slot !== undefined) return one.slot;
  const plain = entry?.tokens === "none" ? null : 0;
  if (is === "inside") return node.tokens[0] ?? plain;
  return node.asks ?? plain;
}

export const toneClass = (entry, node, client) => colour(tone(entry, node, client));

/** Whether tokens have numbers that mean something. */
export const numbered = (run) => run.catalogueEntry?.tokens === "per-slot" && run.setting.tokens > 1;

const groups = (list) => (list.length > 1 ? `groups ${list.join(", ")}` : `group ${list[0]}`);

/** What the client of a node does, in a word or two; where many nodes stand close, in fewer. */
export function does(run, node, short = false) {
  const byGroup = run.catalogueEntry?.kind === "group-mutex";
  if (node.is === "crashed") return "crashed";
  if (short && node.is === "waits" && (byGroup ? node.groups.length : numbered(run) && node.asks !== null)) return `for ${byGroup ? node.groups.join(", ") : node.asks}`;
  if (node.is === "inside") return !short && byGroup && node.group !== null ? `inside, group ${node.group}` : "inside";
  if (node.is !== "waits") return "";
  if (byGroup && node.groups.length) return `waits for ${groups(node.groups)}`;
  return node.asks !== null && numbered(run) ? `waits for ${node.asks}` : "waits";
}

/** How the ways of an algorithm are told apart: by their token where tokens have numbers, else by their name. */
export function ways(run, state) {
  const found = new Map();
  const byToken = numbered(run);
  for (const node of state.nodes) for (const { name, token } of node.pointers) {
    const key = byToken && token !== null ? `token ${token}` : name;
    if (!found.has(key)) found.set(key, byToken && token !== null ? { key, colour: token, words: `way to token ${token}`, token } : { key, colour: null, words: name, token: null });
  }
  // Names take the colours in their order; a token has its own.
  const names = [...found.values()].filter((way) => way.colour === null).sort((a, b) => (a.key < b.key ? -1 : 1));
  names.forEach((way, index) => (way.colour = index));
  return [...found.values()].sort((a, b) => a.colour - b.colour);
}

/** A message in a few words: whose request it is, or its kind. */
export function brief(message) {
  if (message.token !== null) return message.kind;
  if (message.asks !== null && message.origin !== null) return `${message.origin} asks for ${message.asks}`;
  if (message.text.length <= 14) return message.text;
  return message.origin !== null ? `${message.kind} of ${message.origin}` : message.kind;
}

/** The first violated property of a state. */
export const wrong = (state) => state?.properties.find((property) => property.verdict === "violated") ?? null;
