// Many marks are painted on canvas, with the styles that they have as elements: dashes, widths and colours are in one place.

/** Makes a canvas as large as a scale says, and returns its pen. What is left of the diagram stays free. */
export function pen(canvas, { left, width, tall }) {
  const dense = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * dense, tall * dense];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${tall}px`;
  const made = canvas.getContext("2d");
  made.scale(dense, dense);
  made.rect(left, 0, width, tall);
  made.clip();
  return made;
}

/** Paints paths: elements that are put into `probe`, which is in the page, for as long as their styles are read. */
export function paint(canvas, probe, paths, scale) {
  const made = pen(canvas, scale);
  probe.replaceChildren(...paths);
  for (const element of paths) {
    const { fill, stroke, strokeWidth, strokeDasharray, strokeLinecap, opacity } = getComputedStyle(element);
    const path = new Path2D(element.getAttribute("d"));
    made.globalAlpha = Number(opacity);
    made.fillStyle = fill;
    if (fill !== "none") made.fill(path);
    if (stroke === "none") continue;
    [made.strokeStyle, made.lineWidth, made.lineCap] = [stroke, parseFloat(strokeWidth), strokeLinecap];
    made.setLineDash(strokeDasharray === "none" ? [] : strokeDasharray.split(/[\s,]+/).map(parseFloat));
    made.stroke(path);
  }
  probe.replaceChildren();
}
