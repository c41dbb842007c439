// Many marks: time folded into bins where a step is narrower than a pixel.

import { pen as clean } from "../draw/paint.js";

const BIN = 3;

/** The colours of the page as they are now: canvas and files know no variables. */
export function tones() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const tone = (name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  };
  const all = Object.fromEntries(["pine", "ink", "quiet", "surface", "t0", "t1", "t2", "t3", "t4", "t5"].map(tone));
  probe.remove();
  return all;
}

/** The higher a bar, the longer the node was inside in that bin, next to the fullest one; thin lines for waits. */
export function paintBins(canvas, seen, scale) {
  const pen = clean(canvas, scale);
  pen.fillStyle = tones().pine;
  const most = Math.ceil((scale.width - scale.left) / BIN);
  const place = (at) => Math.max(0, Math.min(most, ((at - scale.lo) * scale.step) / BIN));
  for (const [marks, high, alpha] of [[seen.waits, 2, 0.4], [seen.bars, scale.row * 0.9, 1]]) {
    const rows = new Map([...scale.y.keys()].map((node) => [node, new Float64Array(most)]));
    for (const it of marks) {
      const [begin, end, row] = [place(it.from), place(it.to ?? scale.end), rows.get(it.node)];
      for (let bin = Math.floor(begin); bin < end; bin += 1) row[bin] += Math.min(end, bin + 1) - Math.max(begin, bin);
    }
    const fullest = Math.max(0.01, ...[...rows.values()].map((row) => Math.max(...row)));
    pen.globalAlpha = alpha;
    for (const [node, row] of rows) row.forEach((share, bin) => pen.fillRect(scale.left + bin * BIN, scale.y.get(node) - (share / fullest) * (high / 2), BIN, (share / fullest) * high));
  }
}
