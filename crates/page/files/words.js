// Numbers, times and sentences, as the page says them.

const WHOLE = new Intl.NumberFormat("en");

export const count = (number) => WHOLE.format(number);

/** "1 node", "3 nodes". */
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

/** A length of time: one decimal below 10 of a unit, none above. */
export function time(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const tidy = (value) => (value < 9.95 ? value.toFixed(1) : Math.round(value).toString());
  if (ms < 0.0005) return "0 s";
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 99.5) return `${tidy(ms)} ms`;
  if (ms < 59_500) return `${tidy(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes} min ${seconds % 60} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** How long something has lasted: never finer than a tenth of a second. */
export const lasted = (ms) => time(ms < 1000 ? Math.max(0, Math.round(ms / 100) * 100) : ms);

/** A length of time that was chosen: "3 s" and "2 min", not "3.0 s" and "2 min 0 s". */
export const chosen = (ms) => time(ms).replace(".0 ", " ").replace(/ 0 (s|min)$/, "");

/** A figure with three digits at most. */
export function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (value < 0.1) return value.toFixed(2);
  if (value < 99.95) return value.toFixed(value < 9.995 && value % 1 !== 0 ? 2 : 1).replace(/\.0+$/, "");
  return count(Math.round(value));
}

const VIEW_BITS = 40n;

/** A fence as view:counter. The whole number is what programs compare. */
export function fence(number) {
  if (number === null || number === undefined) return "–";
  const whole = BigInt(number);
  return `${whole >> VIEW_BITS}:${whole & ((1n << VIEW_BITS) - 1n)}`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
const SHORT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const clock = (at) => CLOCK.format(at);
export const shortClock = (at) => SHORT.format(at);

export const KINDS = { mutex: "mutex", semaphore: "semaphore", rwlock: "read-write lock", room: "room" };

/** What a client calls itself: its own text first, then its command. */
export function who(label) {
  if (!label) return { name: "no label", at: "" };
  const command = (label.command ?? "").replace(/^Mozilla\/.*/, "browser");
  const name = label.text || command || label.words || "no label";
  const place = [label.user, label.host].filter(Boolean).join("@");
  const rest = label.text && command ? `${command}, ${place}` : place;
  return { name, at: rest };
}

/** A word as a shell needs it. */
export const quoted = (word) => (/^[\w./:@%+=,-]+$/.test(word) && !word.startsWith("-") ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** What a name is, in a few words. */
export function about(lock) {
  const defined = lock.defined ? ", defined" : "";
  const holders = lock.clients.filter((client) => client.state === "holds");
  if (lock.kind === "semaphore") return `${many(lock.slots, "slot")}${defined}`;
  if (lock.kind === "rwlock") {
    const readers = holders.filter((client) => client.mode === "shared").length;
    return readers ? `read by ${count(readers)}` : holders.length ? "written" : `read-write lock${defined}`;
  }
  if (lock.kind === "room") {
    const open = holders.find((client) => client.group)?.group;
    return open ? `group ${open} is open` : `room${defined}`;
  }
  return `${KINDS[lock.kind] ?? "free"}${defined}`;
}
