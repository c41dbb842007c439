// Questions to the page's own node, and its events. Nothing else is ever asked.

const TOKEN = "tokenwood.token";
/** A question that is not answered within this time has no answer. */
const LONGEST = 15_000;

let token = null;
try {
  token = sessionStorage.getItem(TOKEN);
} catch {
  // A browser may forbid storage: then the token lives as long as the page.
}

export const hasToken = () => token !== null;

/** Keeps a token for this tab only; null forgets it. */
export function useToken(text) {
  token = text;
  try {
    if (text === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, text);
  } catch {
    // As above.
  }
}

/** A refusal of the node, or no answer (status 0). */
export class Problem extends Error {
  constructor(facts) {
    super(facts.refusal?.message || facts.detail || facts.title || "the node does not answer");
    /** What the player refuses: {kind, message, fits, step}. */
    this.refusal = facts.refusal ?? null;
    this.status = facts.status ?? 0;
    this.kind = (facts.type ?? "").replace("urn:tokenwood:problem:", "");
    this.title = facts.title ?? "";
    this.hint = facts.hint ?? "";
    this.silent = this.status === 0;
  }
}

const headers = (more) => (token === null ? more : { ...more, Authorization: `Bearer ${token}` });

// Fences are whole numbers of 64 bits, and JavaScript has 53: the long ones stay text. Inside a string of JSON a quote has a
// backslash before it, so only keys match.
const read = (text) => JSON.parse(text.replace(/"fence":(\d{15,})/g, '"fence":"$1"'));

async function refused(response) {
  const text = await response.text().catch(() => "");
  try {
    return new Problem({ ...JSON.parse(text), status: response.status });
  } catch {
    return new Problem({ status: response.status, detail: `the node answered ${response.status}` });
  }
}

async function send(path, options) {
  try {
    return await fetch(path, { ...options, headers: headers(options.headers), cache: "no-store", credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (options.signal?.aborted && options.signal.reason === "left") throw error;
    throw new Problem({ detail: "the node does not answer" });
  }
}

/** Asks, and returns what the node answers, read by `as`. A body is JSON text, because fences are longer than numbers. */
export async function ask(path, { method = "GET", body, signal, as = read } = {}) {
  const limit = AbortSignal.timeout(LONGEST);
  const response = await send(path, {
    method,
    body,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  });
  if (!response.ok) throw await refused(response);
  if (response.status === 204) return null;
  return as(await response.text());
}

/** The events of an answer, one after the other, until it ends. `EventSource` could send neither a token nor a body. */
export async function* watch(path, signal, body) {
  const headers = { Accept: "text/event-stream", ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  const response = await send(path, { method: body === undefined ? "GET" : "POST", body, headers, signal });
  if (!response.ok) throw await refused(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let event = "message";
      let data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data += line.slice(5).trim();
      }
      if (data) yield { event, facts: read(data) };
    }
  }
}

/** The path of a name: a verb that ends it is encoded with the rest. */
export const lockPath = (name, verb = "") => `/v1/locks/${encodeURIComponent(name)}${verb && `/${verb}`}`;
