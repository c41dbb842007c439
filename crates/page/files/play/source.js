// Where runs come from: the server that served the page. A file without a server has a source of its own, of the same shape.

import { Problem, ask } from "../ask.js";

/** A refusal of the player, or no answer (kind `silent`). */
export class Refusal extends Error {
  constructor(facts) {
    super(facts.message ?? "The server does not answer. Is tokenwood still running?");
    this.kind = facts.kind ?? "silent";
    this.fits = facts.fits ?? null;
    this.step = facts.step ?? null;
  }
}

/** An answer of the player. What is no answer is thrown: a refusal, or the abort of the caller. */
export async function answer(path, { body, signal } = {}) {
  try {
    return await ask(`/player/${path}`, { method: body === undefined ? "GET" : "POST", body, signal });
  } catch (problem) {
    if (signal?.aborted || !(problem instanceof Problem)) throw problem;
    throw new Refusal(problem.refusal ?? (problem.silent ? {} : { kind: "refused", message: problem.message }));
  }
}

const post = (path) => (request, signal) => answer(path, { body: JSON.stringify(request), signal });
/** What does not change while the server runs is asked for once, unless the answer failed. */
function once(path) {
  let asked = null;
  return () => (asked ??= answer(path).catch((problem) => {
    asked = null;
    throw problem;
  }));
}

const about = once("about");

/** What the server can do: {player, cluster}. One without a player does not know the question. */
export const abilities = () => about().catch(() => ({ player: false, cluster: true }));

/** The server of this page. */
export const server = {
  canAct: true,
  catalogue: once("catalogue"),
  stories: once("stories"),
  gallery: once("gallery"),
  play: post("play"),
  autorun: post("autorun"),
  share: post("share"),
  /** A link, the text of a trace, or (null) the file that the program was started with. */
  open: (text) => (text === null ? answer("opened") : answer("open", { body: text })),
};
