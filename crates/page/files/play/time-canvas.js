// Many marks: the paths of the diagram on canvas, and time folded into bins where a step is narrower than a pixel.

/** Width and dash of lines; what is not here is filled. */
const STYLES = { gap: [5, []], wait: [2, [3, 2.6]], asks: [1.2, []], carries: [2, []], cross: [1.8, []] };
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

function clean(canvas, { left, width, tall }) {
  const dense = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * dense, tall * dense];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${tall}px`;
  const pen = canvas.getContext("2d");
  pen.scale(dense, dense);
  pen.rect(left, 0, width, tall);
  pen.clip();
  return pen;
}

export function paintPaths(canvas, paths, scale) {
  const [pen, colours] = [clean(canvas, scale), tones()];
  for (const { kind, tone, d } of paths) {
    const [wide, dash] = STYLES[kind] ?? [];
    pen.fillStyle = pen.strokeStyle = colours[kind === "gap" ? "surface" : tone];
    pen.lineWidth = wide ?? 1;
    pen.setLineDash(dash ?? []);
    pen[wide ? "stroke" : "fill"](new Path2D(d));
  }
}

/** The higher a bar, the longer the node was inside in that bin; thin lines for waits, and at the bottom the messages sent. */
export function paintBins(canvas, seen, scale) {
  const [pen, colours] = [clean(canvas, scale), tones()];
  const most = Math.ceil((scale.width - scale.left) / BIN);
  const place = (at) => Math.max(0, Math.min(most, ((at - scale.lo) * scale.step) / BIN));
  const draw = (marks, high) => {
    const rows = new Map([...scale.y.keys()].map((node) => [node, new Float64Array(most)]));
    for (const it of marks) {
      const [begin, end, row] = [place(it.from), place(it.to ?? scale.end), rows.get(it.node)];
      for (let bin = Math.floor(begin); bin < end; bin += 1) row[bin] += Math.min(end, bin + 1) - Math.max(begin, bin);
    }
    for (const [node, row] of rows) row.forEach((share, bin) => share && pen.fillRect(scale.left + bin * BIN, scale.y.get(node) - (Math.min(1, share) * high) / 2, BIN, Math.min(1, share) * high));
  };
  const sent = new Float64Array(most + 1);
  for (const it of seen.messages) sent[Math.floor(place(it.sent))] += 1;
  const top = Math.max(...sent);
  pen.globalAlpha = 0.25;
  pen.fillStyle = colours.quiet;
  sent.forEach((many, bin) => pen.fillRect(scale.left + bin * BIN, scale.tall, BIN, (-many / top) * Math.min(28, scale.tall / 4)));
  pen.fillStyle = colours.pine;
  pen.globalAlpha = 0.5;
  draw(seen.waits, 2);
  pen.globalAlpha = 0.9;
  draw(seen.bars, scale.row * 0.8);
}
