// What happens, as it happens: bounded, and honest about what was missed.

import { h, keyed, say } from "../dom.js";
import { address, replace } from "../router.js";
import { clock, count, fence, many, who } from "../words.js";
import { live } from "./model.js";
import { nameAddress } from "./names.js";
import { looks } from "./tables.js";

const WORDS = {
  waits: ["waits", "waits"],
  granted: ["in", "granted"],
  released: ["out", "released"],
  "gave-up": ["out", "gave up"],
  lost: ["bad", "lost"],
  "taken-away": ["bad", "revoked"],
  "force-released": ["bad", "forced"],
  "session-ended": ["out", "ended"],
};

/** `most` rows; `name` and `node` show only events of that name, of that node. */
export class Events {
  constructor({ most, name = null, node = null, whole = false }) {
    Object.assign(this, { most, name, node, whole });
    this.missed = h("p", { class: "quiet", role: "status" });
    this.list = h("ol", { class: "events" });
    this.hold = h("button", { class: "chip hold", onclick: toggleHold }, h("span", {}, "Hold still"), h("kbd", {}, "Space"));
    this.rest = h(whole ? "p" : "a", { class: "quiet rest", href: whole ? null : address("events", { name }) });
    this.element = h("section", { class: `panel happens${whole ? " whole" : ""}`, "aria-labelledby": "events-title" }, h("div", { class: "bar" }, h("h2", { id: "events-title" }, "Events"), this.missed, this.hold), this.list, this.rest);
  }

  #shown() {
    if (this.name === null && this.node === null) return live.events;
    // What was missed may have been of this name, and of this node if it is not known to be of another one.
    const fits = (wanted, is, gap) => wanted === null || wanted === is || (gap && is === undefined);
    return live.events.filter((event) => fits(this.name, event.name, !(event.event in WORDS)) && fits(this.node, event.node, !(event.event in WORDS)));
  }

  /** What is missing here, in words. */
  #lost() {
    const silent = [...live.silent].filter((node) => (this.node ?? node) === node).sort((a, b) => a - b);
    return [live.missed && `${count(live.missed)} missed`, silent.length ? `without node ${silent.join(", ")}` : live.gaps && !live.missed && "some missed"].filter(Boolean).join("; ");
  }

  update() {
    const events = this.#shown();
    const shown = events.slice(-this.most).reverse();
    keyed(this.list, shown, (event) => event.number, line);
    const held = live.heldAt !== null;
    say(this.hold.firstChild, held ? "Go on" : "Hold still");
    this.hold.setAttribute("aria-pressed", held);
    const lost = this.#lost();
    const waiting = live.waiting.length + live.waitingMore;
    say(this.missed, held ? `held still; ${many(waiting, "event")} waiting` : lost || "nothing missed");
    this.missed.classList.toggle("amber", held || Boolean(lost));
    const minute = events.filter((event) => live.now() - event.at < 60_000).length;
    const more = Math.max(0, minute - shown.length);
    say(this.rest, events.length === 0 ? "Nothing happened since the page looks." : this.whole ? `${many(events.length, "event")} since the page looks; it keeps the last 2,000.` : more ? `${count(more)} more in the last minute` : "All events");
  }
}

export function toggleHold() {
  if (live.heldAt === null) live.hold();
  else live.resume();
}

function line(event) {
  const at = h("time", { datetime: new Date(event.at).toISOString() }, clock(event.at));
  const amber = (text) => h("li", { class: "gap" }, at, h("span", { class: "text" }, text));
  if (event.event === "missed") return amber(`${many(event.events, "event was", "events were")} missed${event.held ? " while the page held still" : ""}; the list goes on from here.`);
  if (event.event === "gap" || event.event === "resumed") return amber(`${event.gap ?? "The connection broke"}: what happened until now is missing.`);
  if (event.event === "node-silent") return amber(`Node ${event.node} is silent: its events are missing.`);
  if (event.event === "node-watched") return amber(`Node ${event.node} is heard: what it did before is missing.`);
  const [mark, word] = WORDS[event.event] ?? ["out", event.event];
  const { name } = who(event.label);
  const place = event.node === undefined ? "" : ` at node ${event.node}`;
  const grant = event.slot === null || event.slot === undefined ? "" : `${event.kind === "semaphore" ? `slot ${event.slot}, ` : ""}${fence(event.fence)}`;
  return h(
    "li",
    {},
    at,
    h("span", { class: `mark ${mark}`, "aria-hidden": "true" }),
    h("span", { class: "what" }, word),
    h("span", { class: "text" }, event.name === undefined ? "a session" : h("a", { href: nameAddress(event.name) }, event.name), place, " ", h("span", { class: "quiet" }, [grant, event.group, name === "no label" ? "" : name].filter(Boolean).join(", "))),
  );
}

/** All events, or those of one name. */
export function eventsView(root, { query }) {
  const name = query.get("name");
  const events = new Events({ most: 200, name, whole: true });
  const clear = name && h("button", { class: "chip", "aria-pressed": "true", onclick: () => { events.name = null; clear.remove(); replace(address("events")); events.update(); } }, `only ${name} ✕`);
  if (clear) events.element.firstChild.insertBefore(clear, events.hold);
  root.append(h("div", { class: "view single" }, h("h1", { class: "hidden-text" }, "Events"), events.element));
  events.update();
  // There is no chart here: only the projector.
  const look = looks(query, () => {});
  const keys = look.keys.filter(({ name: key }) => key !== "T");
  return { title: "Events", update: () => events.update(), keys, leave: look.leave };
}
