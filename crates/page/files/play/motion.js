// Things that move along their arcs. Nothing loops, and all can be brought to its end at once.

import { still } from "../dom.js";

/** A cubic Bézier curve as an easing: solved by halving, since steps are few. */
function bezier(x1, y1, x2, y2) {
  const at = (a, b, t) => 3 * a * t * (1 - t) ** 2 + 3 * b * t * t * (1 - t) + t ** 3;
  return (x) => {
    let [low, high] = [0, 1];
    for (let round = 0; round < 12; round += 1) {
      const middle = (low + high) / 2;
      if (at(x1, x2, middle) < x) low = middle;
      else high = middle;
    }
    return at(y1, y2, (low + high) / 2);
  };
}

export const glide = bezier(0.4, 0, 0.2, 1);
export const swing = bezier(0.2, 0, 0, 1);
export const [TOKEN, REQUEST, POINTER] = [420, 280, 240];
/** Above so many steps a second nothing is animated. */
const FASTEST = 8;

/** How much slower or faster the moves of a step may be: null if nothing moves. */
export function pace(run, whole) {
  if (still() || document.hidden) return null;
  if (!run.playing) return 1;
  return run.speed > FASTEST ? null : Math.min(1, (0.7 * 1000) / run.speed / whole);
}

/** Moves under way. */
export class Motion {
  #moves = new Map();
  #frame = 0;

  /** `moves` is told whether something moves. */
  constructor(moves) {
    this.moves = moves;
  }

  /** Calls `draw` with 0 to 1 for so long, and `done` at the end. */
  start(ms, ease, draw, done) {
    const move = { begun: performance.now(), ms, ease, draw, done };
    this.#moves.set(move, move);
    this.moves(true);
    draw(0);
    this.#frame ||= requestAnimationFrame((now) => this.#step(now));
  }

  /** Brings all to its end, also what begins by that. */
  finish() {
    for (let round = 0; round < 4 && this.#moves.size; round += 1) for (const move of [...this.#moves.values()]) this.#end(move);
  }

  #end(move) {
    this.#moves.delete(move);
    move.draw(1);
    move.done?.();
    if (!this.#moves.size) this.moves(false);
  }

  #step(now) {
    this.#frame = 0;
    for (const move of [...this.#moves.values()]) {
      const share = Math.max(0, (now - move.begun) / move.ms);
      if (share >= 1) this.#end(move);
      else move.draw(move.ease(share));
    }
    if (this.#moves.size) this.#frame ||= requestAnimationFrame((time) => this.#step(time));
  }
}
