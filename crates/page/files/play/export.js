// Pictures of a run as files that stand alone: colours are in them as numbers, with title, setting and a text for those who do
// not see them.

import { fill, h, s } from "../dom.js";
import { dialog } from "../frame.js";
import { tones } from "./time-canvas.js";
import { lines, sight } from "./time-marks.js";
import { drawAxis, drawBand, drawPaths } from "./time.js";

/** What a picture needs of the style of the page. */
const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "dominant-baseline", "paint-order", "transform"];
const [MARGIN, HEAD, SHARPER] = [16, 46, 2];

/** A setting in a few words. */
export function about({ setting }) {
  const { algorithm, nodes, tokens, groups, defect } = setting;
  return [algorithm, `${nodes} nodes`, tokens > 1 && `${tokens} tokens`, groups > 1 && `${groups} groups`, defect && `defect ${defect}`].filter(Boolean).join(", ");
}

/** One way to share: what it is, and what does it. */
export const wayOut = (title, words, acts, ...more) => h("div", { class: "way-out" }, h("h3", {}, title), h("p", {}, words), h("div", { class: "acts" }, acts), more);

export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A copy of an element whose looks are attributes: nothing outside of it decides how it is drawn. */
function freeze(element) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden") return null;
  const copy = element.cloneNode(false);
  for (const name of ["class", "style", "tabindex", "role"]) copy.removeAttribute(name);
  for (const { name } of [...copy.attributes]) if (/^(aria|data)-/.test(name)) copy.removeAttribute(name);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    if (value && value !== "normal" && !(value === "none" && !["fill", "stroke"].includes(name)) && !(value === "auto")) copy.setAttribute(name, value.replaceAll('"', "'"));
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
    else if (child.nodeType === Node.ELEMENT_NODE && child.localName !== "title") copy.append(freeze(child) ?? "");
  }
  return copy;
}

/** The whole file: a ground, a title, the sentence of the step, the picture. */
function standing(run, drawn, words) {
  const colours = tones();
  const box = drawn.viewBox.baseVal?.width ? drawn.viewBox.baseVal : { x: 0, y: 0, width: drawn.clientWidth, height: drawn.clientHeight };
  const inner = freeze(drawn);
  for (const [name, value] of Object.entries({ x: MARGIN, y: HEAD + MARGIN, width: box.width, height: box.height, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` })) inner.setAttribute(name, value);
  const [width, height] = [box.width + 2 * MARGIN, box.height + HEAD + 2 * MARGIN];
  const font = getComputedStyle(document.body).fontFamily.replaceAll('"', "'");
  const state = run.known(run.at);
  const text = (y, size, weight, fill, words) => s("text", { x: MARGIN, y, "font-family": font, "font-size": size, "font-weight": weight, fill }, words);
  return s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "title words" },
    s("title", { id: "title" }, `${about(run)}: step ${run.at} of ${run.last}`),
    s("desc", { id: "words" }, words),
    s("rect", { width, height, fill: colours.surface }),
    text(MARGIN + 12, 15, 600, colours.ink, about(run)),
    text(MARGIN + 33, 12, 400, colours.quiet, `Step ${run.at} of ${run.last}${state?.sentence ? `. ${state.sentence}` : ""}`),
    inner,
  );
}

function graphPicture(run) {
  const drawn = document.querySelector("svg.graph");
  if (!drawn) return null;
  return standing(run, drawn, (run.known(run.at)?.nodes ?? []).map((node) => node.words).join(" "));
}

/** The window of time as it is shown, with names and numbers. */
function timePicture(run) {
  const time = run.timeView;
  const scale = time.scale();
  const data = lines(run);
  const seen = sight(data, scale, time.hiddenKinds);
  const tall = 6 + scale.row * scale.y.size;
  const wide = scale.width + 14;
  const x = scale.x(run.at);
  const drawn = s(
    "svg",
    { class: "time-svg", width: wide, height: tall + 22, viewBox: `0 0 ${wide} ${tall + 22}` },
    s("path", { class: "rows", d: [...scale.y.values()].map((y) => `M${scale.left} ${y}H${wide}`).join("") }),
    s("svg", { x: scale.left, width: wide - scale.left, height: tall, viewBox: `${scale.left} 0 ${wide - scale.left} ${tall}` }, drawPaths(seen, scale, data)),
    s("rect", { class: "veil", x: Math.max(x, scale.left), y: 0, width: run.at === run.last ? 0 : Math.max(0, wide - Math.max(x, scale.left)), height: tall }),
    drawBand(run, scale),
    x >= scale.left && x <= wide && s("path", { class: "playhead-line", d: `M${x} 0V${tall + 4}` }),
    [...scale.y].map(([node, y]) => s("text", { class: "time-name", x: scale.left - 12, y: y + 4 }, String(node))),
    s("g", { class: "time-axis", transform: `translate(0 ${tall})` }, drawAxis(run, scale)),
  );
  const place = h("div", { class: "hidden-text" });
  place.append(drawn);
  document.body.append(place);
  const entries = seen.bars.map((it) => `Node ${it.node} is inside from step ${it.from} to ${it.to ?? "the end"}.`);
  const words = `Steps ${Math.ceil(scale.lo)} to ${Math.min(run.last, Math.floor(scale.hi))} of ${run.last}, one row for each node; ${seen.messages.length} messages. ${entries.slice(0, 40).join(" ")}`;
  const picture = standing(run, drawn, words);
  place.remove();
  return picture;
}

const text = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;

/** Draws a picture at double size. */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(svg))}`;
  await image.decode();
  const canvas = h("canvas", {});
  [canvas.width, canvas.height] = [image.width * SHARPER, image.height * SHARPER];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function exportView(run) {
  if (!run.setting) return;
  const told = h("div", { role: "alert" });
  const name = `${run.setting.algorithm.replace(/\W+/g, "-")}-step-${run.at}`;
  const ways = (kind, picture) => [
    h("button", { class: "button", onclick: () => save(`${name}-${kind}.svg`, new Blob([text(picture(run))], { type: "image/svg+xml" })) }, "SVG"),
    h("button", { class: "button", onclick: async () => {
      const blob = await png(picture(run)).catch(() => null);
      if (blob) save(`${name}-${kind}.png`, blob);
      else fill(told, h("p", { class: "wrong" }, "This browser cannot draw the picture. Save it as SVG."));
    } }, "PNG"),
  ];
  const none = !document.querySelector("svg.graph");
  dialog(
    "Export pictures",
    h("p", {}, `${about(run)}, step ${run.at} of ${run.last}. Colours are those of the page now.`),
    !none && wayOut("Graph", "Nodes, tokens and the ways to them.", ways("graph", graphPicture)),
    wayOut("Time", "The window of time as it is shown.", ways("time", timePicture)),
    told,
  );
}
