// Where runs come from: the server that served the page. A file without a server has a source of its own, of the same shape.

/** A refusal of the player, or no answer (kind `silent`). */
export class Refusal extends Error {
  constructor(facts) {
    super(facts.message ?? "the server does not answer");
    this.kind = facts.kind ?? "silent";
    this.fits = facts.fits ?? null;
    this.step = facts.step ?? null;
  }
}

/** An answer of the player. What is no answer is thrown: a refusal, or the abort of the caller. */
export async function answer(path, { body, signal } = {}) {
  let response;
  try {
    response = await fetch(`/player/${path}`, { method: body === undefined ? "GET" : "POST", body, signal, headers: body === undefined ? {} : { "Content-Type": "application/json" }, cache: "no-store", credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal({ message: "The server does not answer. Is tokenwood still running?" });
  }
  if (response.ok) return response;
  let facts = {};
  try {
    const told = await response.json();
    facts = told.refusal ?? { message: told.detail ?? told.title };
  } catch {
    // No JSON: the number has to do.
  }
  throw new Refusal({ kind: "refused", message: `the server answered ${response.status}`, ...facts });
}

const post = (path) => async (request, signal) => (await answer(path, { body: JSON.stringify(request), signal })).json();

let catalogue = null;
let about = null;

/** What the server can do: {player, cluster}. One without a player does not know the question. */
export function abilities() {
  about ??= answer("about").then((response) => response.json()).catch(() => ({ player: false, cluster: true }));
  return about;
}

/** The server of this page. */
export const server = {
  canAct: true,
  catalogue: () => (catalogue ??= answer("catalogue").then((response) => response.json()).catch((problem) => {
    catalogue = null;
    throw problem;
  })),
  stories: async () => (await answer("stories")).json(),
  gallery: async () => (await answer("gallery")).json(),
  play: post("play"),
  autorun: post("autorun"),
  share: post("share"),
  open: async (text) => (await answer("open", { body: text })).json(),
};
