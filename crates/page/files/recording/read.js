// A recording, read: the lines of the file become what can be drawn. Bands of nodes, grants, waits, views, partitions, findings.

const SCHEMA = "tokenwood.recording/1";
// Fences are whole numbers of 64 bits: long ones stay text.
const parse = (line) => JSON.parse(line.replace(/"fence":(\d{15,})/g, '"fence":"$1"'));

/** The lines of a file. A part of a line at its end is left out: the program that wrote it was killed. */
function lines(text) {
  const all = text.split("\n");
  const rest = all.pop();
  const header = parse(all[0] ?? rest);
  if (header.schema !== SCHEMA) throw new Error(`the file is ${header.schema}, and this page reads ${SCHEMA}`);
  const events = all.slice(1).map((line, at) => {
    try {
      return parse(line);
    } catch {
      throw new Error(`line ${at + 2} is not JSON`);
    }
  });
  return { header, events };
}

/** What lasts, by node: begun by one event, ended by others. */
const BANDS = [
  { kind: "down", begins: ["died", "left"], ends: ["comes_back", "joins"] },
  { kind: "still", begins: ["stalls"], ends: ["goes_on", "died"] },
  { kind: "silent", begins: ["no_answer"], ends: ["answers"] },
  { kind: "lapsed", begins: ["lease_lapsed"], ends: ["leased", "died", "comes_back"] },
  { kind: "cut", begins: ["cut_off"], ends: ["reached"] },
];

const last = (to) => to ?? Infinity;

/** What is left of a band outside of another. */
const without = (band, gap) => (last(gap.to) <= band.from || gap.from >= last(band.to) ? [band] : [band.from < gap.from && { ...band, to: gap.from }, last(band.to) > last(gap.to) && { ...band, from: gap.to }].filter(Boolean));

export class Recording {
  constructor(text) {
    const { header, events } = lines(text);
    this.header = header;
    this.complete = events.at(-1)?.event === "ends";
    this.events = events.filter((it) => it.event !== "ends");
    // After the faults of a swarm there is much time in which nothing happens.
    this.last = (header.kind === "swarm" ? this.events : events).at(-1)?.time ?? 0;
    this.nodes = [...new Set([...header.nodes, ...events.flatMap((it) => it.node ?? it.members ?? [])])].sort((a, b) => a - b);
    this.names = [...new Set(this.events.flatMap((it) => it.name ?? []))].sort(new Intl.Collator("en", { numeric: true }).compare);
    this.views = this.events.filter((it) => it.event === "view");
    this.findings = this.events.filter((it) => it.event === "finding");
    this.missed = this.events.reduce((sum, it) => sum + (it.event === "missed" ? it.count : 0), 0);
    [this.bands, this.grants, this.waits, this.partitions] = [[], [], [], []];
    this.#band();
    this.#follow();
    this.#hand();
  }

  #band() {
    const open = new Map();
    const end = (kind, node, to) => {
      const band = open.get(`${kind} ${node}`);
      if (band) this.bands.push({ ...band, to });
      open.delete(`${kind} ${node}`);
    };
    const begin = (kind, node, from) => {
      if (!open.has(`${kind} ${node}`)) open.set(`${kind} ${node}`, { kind, node, from });
    };
    // A node that joins later is not there before.
    for (const node of this.nodes) if (!this.header.nodes.includes(node)) begin("down", node, 0);
    let leader = null;
    for (const { event, node, time, number, from, to, both, members } of this.events) {
      if (event === "view") for (const it of this.nodes) members.includes(it) ? end("out", it, time) : begin("out", it, time);
      for (const { kind, begins, ends } of BANDS) {
        if (ends.includes(event)) end(kind, node, time);
        if (begins.includes(event)) begin(kind, node, time);
      }
      if (event === "leads" || (event === "died" && node === leader)) {
        end("leads", leader, time);
        leader = event === "leads" ? node : null;
        if (leader !== null) begin("leads", leader, time);
      }
      if (event === "partition") this.partitions.push({ number, sides: [from, to], both, from: time, to: null });
      const over = event === "partition_ends" && this.partitions.find((it) => it.number === number);
      if (over) over.to = time;
    }
    for (const { kind, node } of [...open.values()]) end(kind, node, null);
    // Of a process that is dead, nothing else is worth showing.
    const downs = this.bands.filter((it) => it.kind === "down");
    const rest = this.bands.filter((it) => it.kind !== "down");
    this.bands = [...downs, ...rest.flatMap((it) => downs.filter((down) => down.node === it.node).reduce((parts, down) => parts.flatMap((part) => without(part, down)), [it]))];
  }

  /** Requests, from asking to their end. Sessions of a cluster are numbered by each node, those of the swarm are clients. */
  #follow() {
    const open = new Map();
    const own = this.header.kind === "swarm";
    const close = (key, to, how) => {
      const was = open.get(key);
      if (was) Object.assign(was, { to, how });
      open.delete(key);
      return was;
    };
    for (const it of this.events) {
      const { event, node, time, name, session, request, slot, fence, group } = it;
      const key = `${own ? "" : `${node}/`}${session}/${request}`;
      if (event === "waits") {
        open.set(key, { node, name, session, from: time, to: null, of: key });
        this.waits.push(open.get(key));
      } else if (event === "granted") {
        close(key, time, event);
        open.set(key, { node, name, session, slot, fence, group, from: time, to: null, of: key, label: it.label });
        this.grants.push(open.get(key));
      } else if (["released", "lost", "taken_away", "gave_up"].includes(event)) {
        // What was held before the recording began.
        if (!close(key, time, event) && fence) this.grants.push({ node, name, session, slot, fence, group, from: 0, to: time, of: key, how: event, before: true });
      } else if (event === "session_ended") {
        const prefix = key.slice(0, key.lastIndexOf("/") + 1);
        for (const key of [...open.keys()]) if (key.startsWith(prefix)) close(key, time, event);
      } else if (event === "no_answer") {
        // What is held there from now on is not known.
        for (const [key, was] of [...open]) if (was.node === node) close(key, time, event);
      }
    }
    // The grants that are open when something is wrong with their name are what is wrong.
    for (const { time, names } of this.findings) for (const it of this.grants) it.wrong ||= names.includes(it.name) && it.from <= time && (it.to === null || it.to >= time);
  }

  /** From each grant to the next one of the same slot, at another node. */
  #hand() {
    const latest = new Map();
    this.hands = [];
    for (const it of this.grants) {
      const key = `${it.name}\n${it.slot}`;
      const was = latest.get(key);
      latest.set(key, it);
      if (was && was.node !== it.node && was.fence !== it.fence) this.hands.push({ name: it.name, from: was.node, to: it.node, left: Math.min(was.to ?? it.from, it.from), at: it.from });
    }
  }
}
