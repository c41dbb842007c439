// A recording, read: the lines of the file become what can be drawn. Bands of nodes, grants, waits, views, partitions, findings.

const SCHEMA = "tokenwood.recording/1";
// Fences are whole numbers of 64 bits: long ones stay text.
const parse = (line) => JSON.parse(line.replace(/"fence":(\d{15,})/g, '"fence":"$1"'));

/** An event has what is needed to draw it. */
const LISTS = { view: "members", finding: "names", partition: "from" };
const isEvent = (it) => Number.isFinite(it?.time) && typeof it.event === "string" && (!LISTS[it.event] || Array.isArray(it[LISTS[it.event]]));

/** The lines of a file. A part of a line at its end is left out: the program that wrote it was killed. */
function lines(text) {
  const all = text.split("\n");
  const rest = all.pop();
  const header = parse(all[0] ?? rest);
  if (header.schema !== SCHEMA) throw new Error(`the file is ${header.schema}, and this page reads ${SCHEMA}`);
  if (!Array.isArray(header.nodes)) throw new Error("its first line names no nodes");
  const events = all.slice(1).map((line, at) => {
    let event = null;
    try {
      event = parse(line);
    } catch {
      throw new Error(`line ${at + 2} is not JSON`);
    }
    if (!isEvent(event)) throw new Error(`line ${at + 2} is no event of a recording`);
    return event;
  });
  return { header, events };
}

/** What lasts, by node: begun by one event, ended by others. */
const BANDS = [
  { kind: "down", begins: ["died", "left", "removed"], ends: ["comes_back", "joins"] },
  { kind: "still", begins: ["stalls"], ends: ["goes_on", "died"] },
  { kind: "silent", begins: ["no_answer"], ends: ["answers"] },
  { kind: "out", begins: ["out_of_view"], ends: [] },
  { kind: "lapsed", begins: ["lease_lapsed"], ends: ["leased", "died", "comes_back"] },
  { kind: "cut", begins: ["cut_off"], ends: ["reached"] },
];

const viewOf = (fence) => Number(BigInt(fence) >> 40n);
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
    // Recordings of before have no list of what was held when they began.
    this.unlisted = header.kind === "swarm" ? [] : this.nodes.filter((node) => events.find((it) => it.node === node && /^(not_)?listed$/.test(it.event))?.event !== "listed");
    [this.bands, this.grants, this.waits, this.partitions] = [[], [], [], []];
    this.#band();
    this.#follow();
    this.#hand();
  }

  #band() {
    const open = new Map();
    const end = (kind, node, to) => {
      const band = open.get(kind + node);
      if (band) this.bands.push({ ...band, to });
      open.delete(kind + node);
    };
    const begin = (kind, node, from) => open.has(kind + node) || open.set(kind + node, { kind, node, from });
    // A node that joins later is not there before; one that belongs to the cluster is out of its view.
    for (const node of this.nodes) if (!this.header.nodes.includes(node) && this.events.find((it) => it.node === node)?.event !== "out_of_view") begin("down", node, 0);
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
    const own = this.header.kind === "swarm";
    // What is open, by session and request. Of a node that does not answer it is in doubt; once that answers, held until a list lacks it.
    const [open, dark, fences, told] = [new Map(), new Map(), new Set(), new Set()];
    const begin = (list, prefix, request, it) => {
      fences.add(`${it.fence} ${it.name}`);
      if (!open.has(prefix)) open.set(prefix, new Map());
      open.get(prefix).set(request, it);
      list.push(it);
    };
    const close = (prefix, request, to, how) => {
      const was = open.get(prefix)?.get(request);
      if (was && !was.over) Object.assign(was, { to, how, doubt: null, until: null });
      open.get(prefix)?.delete(request);
      return was;
    };
    const ofNode = (node, call) => open.forEach((requests) => requests.forEach((it) => it.node === node && !it.over && call(it)));
    // What a node says late of what was over then changes nothing.
    const end = (it, to, how) => Object.assign(it, { over: true }, it.doubt !== null && it.how === "no_answer" ? { until: to } : { to, how });
    for (const it of this.events) {
      const { event, node, time, name, session, request, slot, fence, label } = it;
      const prefix = `${own ? "" : `${node}/`}${session}`;
      const made = { node, name, slot, fence, label, from: time, to: null, doubt: null };
      const had = own ? null : open.get(prefix)?.get(request);
      const was = had?.over ? null : had;
      if (event === "waits") {
        if (!was) begin(this.waits, prefix, request, made);
      } else if (event === "granted") {
        if (typeof was?.slot === "number") continue;
        close(prefix, request, time, event);
        begin(this.grants, prefix, request, made);
      } else if (event === "holding" || event === "waiting") {
        // The same request, as far as one knows.
        if (was && (was.slot ?? null) === slot) Object.assign(was, { to: null, how: null, doubt: null });
        else {
          close(prefix, request, time, event);
          begin(event === "holding" ? this.grants : this.waits, prefix, request, { ...made, from: Math.max(0, time - it.seconds), before: time < it.seconds });
        }
      } else if (["released", "lost", "taken_away", "gave_up"].includes(event)) {
        // What was held before the recording began, or was granted while the node did not answer. A client may release late what ended
        // with its session.
        if (!close(prefix, request, time, event) && fence && !fences.has(`${fence} ${name}`)) this.grants.push({ ...made, from: (told.has(node) && dark.get(node)) || 0, to: time, how: event, before: !told.has(node) });
      } else if (event === "session_ended") {
        for (const request of [...(open.get(prefix)?.keys() ?? [])]) close(prefix, request, time, event);
        open.delete(prefix);
      } else if (event === "no_answer") {
        dark.set(node, time);
        ofNode(node, (it) => Object.assign(it, { to: time, how: event, doubt: time, until: null }));
      } else if (event === "answers") ofNode(node, (it) => Object.assign(it, { to: null, how: null }));
      else if (event === "listed") {
        told.add(node);
        ofNode(node, (it) => it.doubt !== null && end(Object.assign(it, { to: it.doubt, how: "no_answer" }), time));
      }
      // Fences have the view in which they were granted: the node may hold what is newer.
      else if (!own && (event === "out_of_view" || event === "comes_back")) ofNode(node, (was) => (was.fence && it.view ? viewOf(was.fence) < it.view : was.doubt !== null || event === "out_of_view") && end(was, time, event));
    }
    this.grants.sort((one, other) => one.from - other.from);
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
