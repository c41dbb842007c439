// A run as lines, for the time diagram: which client is inside when, which waits, which messages go where. Made from the states
// as they arrive, in their order.

/** What tells one entry from another: the group, the slot, or the token; the same as the server's outlines. */
function colour(entry, node, client) {
  if (client.is === "waits") return entry?.kind === "group-mutex" ? client.groups[0] ?? null : node.asks;
  if (entry?.kind === "group-mutex") return client.group;
  return entry?.many_clients ? client.slot : node.tokens[0] ?? null;
}

/** Lists have the fields of the server's outlines; a message has two more: the token asked for, and the step that lost it.
 * `crashes` has [node, from, to]; `copies` has [copy, message], by their numbers. */
export class Outline {
  bars = [];
  waits = [];
  messages = [];
  crashes = [];
  copies = [];
  /** So many states are in it: numbers 0 to `done` - 1. */
  done = 0;
  #open = new Map();
  #known = new Map();
  #down = new Map();
  #seen = null;

  /** What is there now: the same object until something is added. */
  snapshot(nodes) {
    const { bars, waits, messages, crashes, copies, done } = this;
    return (this.#seen ??= { nodes, bars, waits, messages, crashes, copies, done });
  }

  add(state, entry) {
    const at = state.at;
    state.nodes.forEach((node, number) => {
      const clients = node.is === "crashed" ? [] : node.clients;
      for (const client of clients) this.#client(number, client.client, client.is, at, client.is === "out" ? null : colour(entry, node, client));
      // Clients after the last that is not idle are not listed.
      for (const [key, bar] of this.#open) if (bar[0] === number && !clients.some((client) => client.client === bar[1])) this.#end(key, at);
      this.#crash(number, node.is === "crashed", at);
    });
    const doubled = state.step?.startsWith("dup") ?? false;
    for (const it of state.flight) if (!this.#known.has(it.id)) {
      this.#message(it);
      if (doubled) this.copies.push([it.id, state.received]);
    }
    const message = this.#known.get(state.received);
    if (message && !doubled) {
      if (state.step.startsWith("lose")) message[8] = at;
      else message[4] = at;
    }
    this.#seen = null;
    this.done = at + 1;
  }

  #client(node, client, is, at, tone) {
    const key = `${node}.${client}`;
    const open = this.#open.get(key);
    if (open && open.is === is) {
      // A wait may turn to another token.
      if (open[4] !== tone && is === "inside") open[4] ??= tone;
      return;
    }
    if (open) this.#end(key, at);
    if (is !== "waits" && is !== "inside") return;
    const bar = [node, client, at, null, tone];
    Object.defineProperty(bar, "is", { value: is });
    this.#open.set(key, bar);
    (is === "waits" ? this.waits : this.bars).push(bar);
  }

  #end(key, at) {
    this.#open.get(key)[3] = at;
    this.#open.delete(key);
  }

  #crash(node, crashed, at) {
    const open = this.#down.get(node);
    if (crashed === Boolean(open)) return;
    if (open) {
      open[2] = at;
      this.#down.delete(node);
    } else {
      this.#down.set(node, [node, at, null]);
      this.crashes.push(this.#down.get(node));
    }
  }

  #message({ id, from, to, since, kind, token, asks }) {
    const message = [id, from, to, since, null, kind, token, asks, null];
    this.#known.set(id, message);
    this.messages.push(message);
  }
}
