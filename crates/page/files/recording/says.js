// One sentence for each event.

import { fence, many, who } from "../words.js";

const list = (nodes) => `${nodes.length === 1 ? "node" : "nodes"} ${nodes.join(", ")}`;
const long = (seconds) => `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
const held = (it) => `slot ${it.slot}${it.group ? `, group ${it.group.replace(/^group /, "")}` : ""}, fence ${fence(it.fence)}`;
/** A client of the swarm has a number, one of a cluster calls itself something. */
const client = (it) => (it.label ? who(it.label).name : `client ${it.session}`);

const since = (it) => `${it.time < it.seconds ? "since before the recording, " : ""}for ${seconds(it.seconds)}`;

const SAYS = {
  waits: (it) => `${client(it)} waits for ${it.name}`,
  granted: (it) => `${client(it)} holds ${it.name}: ${held(it)}`,
  holding: (it) => `${client(it)} holds ${it.name}: ${held(it)}, ${since(it)}`,
  waiting: (it) => `${client(it)} waits for ${it.name}, ${since(it)}`,
  listed: (it) => `is listed: ${many(it.holders, "grant is", "grants are")} held, ${many(it.waiters, "request waits", "requests wait")}`,
  not_listed: (it) => `does not list what was held before: ${it.why}`,
  released: (it) => `${client(it)} releases ${it.name}: ${held(it)}`,
  lost: (it) => `${client(it)} loses ${it.name}: its session expired`,
  taken_away: (it) => `${client(it)} loses ${it.name}: released by force`,
  gave_up: (it) => `${client(it)} does not get ${it.name}: ${it.why}`,
  session_ended: (it) => `${it.vanished ? `${client(it)} vanishes` : `the session of ${client(it)} ${it.ran_out ? "runs out" : "ends"}`}`,
  force_released: (it) => `an operator releases ${it.name} by force: ${held(it)}`,
  view: (it) => `View ${it.view} begins, with ${list(it.members)}`,
  enters: (it) => `enters view ${it.view}`,
  leads: () => "leads from now on",
  joins: () => "joins",
  is_to_leave: () => "is told to leave",
  left: () => "has left",
  removed: () => "is removed from the cluster",
  out_of_view: (it) => `is out of view ${it.view}: what its clients held is free`,
  died: () => "dies",
  comes_back: (it) => (it.incarnation ? `is a member of view ${it.view}, as a new incarnation` : "comes back"),
  stalls: (it) => `stands still for ${seconds(it.seconds)}`,
  goes_on: () => "goes on",
  excluded: () => "learns that the others went on without it",
  lease_lapsed: () => "has no lease, and grants nothing",
  leased: () => "has a lease",
  cut_off: (it) => (it.both ? `does not reach the leader for ${seconds(it.seconds)}` : `is not heard by the leader for ${seconds(it.seconds)}`),
  reached: () => "reaches the leader again",
  no_answer: (it) => `does not answer: ${it.why}`,
  answers: () => "answers again",
  partition: (it) => `No message passes ${it.both ? "between" : "from"} ${list(it.from)} ${it.both ? "and" : "to"} ${list(it.to)} for ${seconds(it.seconds)}`,
  partition_ends: (it) => `Messages pass again: partition ${it.number} is over`,
  defined: (it) => `An operator defines ${it.name} as ${it.definition}`,
  lies: (it) => `sends node ${it.to} what no honest node sends`,
  finding: (it) => `${it.kind === "violation" ? "Violation" : "Stuck"}: ${it.words.replace(/\b\d{13,}\b/g, fence)}`,
  missed: (it) => `${many(it.count, "event is", "events are")} missing here`,
};

/** A length of time as an axis has it. */
export const seconds = (span) => (span < 0.1 ? `${(span * 1000).toPrecision(2)} ms` : `${span < 10 ? span.toFixed(1) : Math.round(span)} s`);

/** Whose sentence begins with the node itself. */
const OF_CLIENTS = ["holding", "waiting", "waits", "granted", "released", "lost", "taken_away", "gave_up", "session_ended", "force_released"];

/** An event in words, without its time. */
export function says(it) {
  const words = SAYS[it.event]?.(it) ?? it.event;
  if (it.node === null || it.node === undefined) return words;
  return OF_CLIENTS.includes(it.event) ? `Node ${it.node}: ${words}` : `Node ${it.node} ${words}`;
}

/** Kinds of events that are shown or left out together. */
export const KINDS = {
  Start: ["holding", "waiting", "listed", "not_listed"],
  Grants: ["granted", "released", "lost", "taken_away", "force_released"],
  Waits: ["waits", "gave_up", "session_ended"],
  Views: ["view", "enters", "leads", "joins", "is_to_leave", "left", "removed", "excluded", "out_of_view", "defined"],
  Faults: ["died", "comes_back", "stalls", "goes_on", "lease_lapsed", "leased", "cut_off", "reached", "no_answer", "answers", "partition", "partition_ends", "lies", "missed"],
};
export const kindOf = (it) => Object.keys(KINDS).find((kind) => KINDS[kind].includes(it.event)) ?? "Findings";
