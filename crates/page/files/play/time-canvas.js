// Many marks: the paths of the diagram on canvas, and time folded into bins where a step is narrower than a pixel.

const STYLES = { gap: [5, []], wait: [2, [3, 2.6]], asks: [1.2, []], carries: [2, []], cross: [1.8, []] };

/** The colours of the page as they are now: canvas and files know no variables. */
export function tones() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const all = {};
  for (const name of ["pine", "ink", "quiet", "surface", "red", "t0", "t1", "t2", "t3", "t4", "t5"]) {
    probe.style.color = `var(--${name})`;
    all[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return all;
}

function clean(canvas, scale, tall) {
  const [wide, dense] = [scale.width + 14, devicePixelRatio || 1];
  canvas.width = wide * dense;
  canvas.height = tall * dense;
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${tall}px`;
  const pen = canvas.getContext("2d");
  pen.scale(dense, dense);
  pen.beginPath();
  pen.rect(scale.left, 0, wide, tall);
  pen.clip();
  return pen;
}

export function paintPaths(canvas, paths, scale, tall) {
  const pen = clean(canvas, scale, tall);
  const colours = tones();
  for (const { kind, tone, d } of paths) {
    const [style, path] = [STYLES[kind], new Path2D(d)];
    if (style) {
      pen.strokeStyle = kind === "gap" ? colours.surface : colours[tone];
      pen.lineWidth = style[0];
      pen.setLineDash(style[1]);
      pen.stroke(path);
    } else {
      pen.fillStyle = colours[tone];
      pen.fill(path);
    }
  }
}

/** The fuller a bar, the longer the node was inside in that bin; lines below it for waits, and at the bottom the messages sent. */
export function paintBins(canvas, { wide, rows, sent }, scale, tall) {
  const pen = clean(canvas, scale, tall);
  const colours = tones();
  const most = Math.max(1, ...sent);
  pen.fillStyle = colours.quiet;
  pen.globalAlpha = 0.25;
  sent.forEach((many, bin) => pen.fillRect(scale.left + bin * wide, tall, wide, (-many / most) * Math.min(28, tall / 4)));
  pen.fillStyle = colours.pine;
  for (const [node, { inside, waits }] of rows) {
    const [y, high] = [scale.y.get(node), scale.row * 0.8];
    for (let bin = 0; bin < inside.length; bin += 1) {
      pen.globalAlpha = 0.4 * Math.min(1, waits[bin]);
      if (waits[bin] > 0) pen.fillRect(scale.left + bin * wide, y - 1, wide, 2);
      pen.globalAlpha = 0.9;
      const full = Math.min(1, inside[bin]) * high;
      if (full > 0) pen.fillRect(scale.left + bin * wide, y - full / 2, wide, full);
    }
  }
}
