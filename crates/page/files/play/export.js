// Pictures of a run as files that stand alone: colours are in them as numbers, with title, setting and a text that describes them.

import { fill, h, s } from "../dom.js";
import { dialog } from "../frame.js";
import { tones } from "./time-canvas.js";
import { drawFaults } from "./time-faults.js";
import { drawAxis, drawBand, drawPaths, lines, sight } from "./time-marks.js";

/** What a picture needs of the style of the page. */
const KEPT = "fill fill-opacity stroke stroke-width stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity opacity font-size font-weight font-family text-anchor dominant-baseline paint-order transform".split(" ");
const [MARGIN, LINE, SHARPER] = [16, 17, 2];

/** A setting in a few words. */
export function about({ setting: { algorithm, nodes, tokens, groups, defect } }) {
  return [algorithm, `${nodes} nodes`, tokens > 1 && `${tokens} tokens`, groups > 1 && `${groups} groups`, defect && `defect ${defect}`].filter(Boolean).join(", ");
}

/** The name of a file. */
export const named = (run, rest) => `${run.setting.algorithm.replace(/\W+/g, "-")}-${rest}`;

/** One way out of the page: what it is, and what does it. */
export const wayOut = (title, words, acts, ...more) => h("div", { class: "way-out" }, h("h3", {}, title), h("p", {}, words), h("div", { class: "acts" }, acts), more);

export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A copy of an element whose looks are attributes: nothing outside of it decides how it is drawn. */
function freeze(element) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden") return "";
  const copy = element.cloneNode(false);
  for (const { name } of [...copy.attributes]) if (/^(aria-.*|data-.*|class|style|tabindex|role)$/.test(name)) copy.removeAttribute(name);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    if (!["", "normal", "auto"].includes(value) && (value !== "none" || name === "fill" || name === "stroke")) copy.setAttribute(name, value.replaceAll('"', "'"));
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
    else if (child.nodeType === Node.ELEMENT_NODE && child.localName !== "title") copy.append(freeze(child));
  }
  return copy;
}

/** A text in lines of about so many letters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length > most) lines.push("");
    lines[lines.length - 1] += `${word} `;
  }
  return lines;
}

/** The whole file: a ground, a title, a sentence, the picture, and words for those who do not see it. */
export function standing(title, sentence, drawn, words) {
  const [colours, box] = [tones(), drawn.viewBox.baseVal];
  const inner = freeze(drawn);
  const said = wrapped(sentence, box.width / 6.4);
  const head = MARGIN + 20 + LINE * said.length;
  for (const [name, value] of Object.entries({ x: MARGIN, y: head + 8, width: box.width, height: box.height })) inner.setAttribute(name, value);
  const [width, height] = [box.width + 2 * MARGIN, head + 8 + box.height + MARGIN];
  const line = (y, size, weight, fill, words) => s("text", { x: MARGIN, y, "font-family": getComputedStyle(document.body).fontFamily.replaceAll('"', "'"), "font-size": size, "font-weight": weight, fill }, words);
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "title words" },
    s("title", { id: "title" }, title),
    s("desc", { id: "words" }, words),
    s("rect", { width, height, fill: colours.surface }),
    line(MARGIN + 12, 15, 600, colours.ink, title),
    said.map((words, index) => line(MARGIN + 33 + LINE * index, 12, 400, colours.quiet, words)),
    inner,
  );
}

/** Styles are known of what is in the document only: a drawing is there while it is copied. */
export function copied(style, drawn, copy) {
  const place = h("div", { class: `hidden-text ${style}` }, drawn);
  document.body.append(place);
  const picture = copy(drawn);
  place.remove();
  return picture;
}

const ofRun = (run, drawn, words) => standing(`${about(run)}: step ${run.at} of ${run.last}`, run.known(run.at)?.sentence ?? "", drawn, words);
const graphPicture = (run) => ofRun(run, document.querySelector("svg.graph"), (run.known(run.at)?.nodes ?? []).map((node) => node.words).join(" "));

/** The window of time as it is shown, with names and numbers. */
function timePicture(run) {
  const scale = run.timeView.scale();
  const { left, width, tall, y, lo, hi } = scale;
  const data = lines(run);
  const seen = sight(data, scale, run.timeView.hiddenKinds);
  const x = Math.max(left, Math.min(width, scale.x(run.at)));
  const drawn = s(
    "svg",
    { viewBox: `0 0 ${width} ${tall + 22}` },
    s("path", { class: "rows", d: [...y.values()].map((at) => `M${left} ${at}H${width}`).join("") }),
    s("svg", { x: left, width: width - left, height: tall, viewBox: `${left} 0 ${width - left} ${tall}` }, drawPaths(seen, scale, data)),
    drawFaults(seen, scale),
    run.at < run.last && s("rect", { class: "veil", x, width: width - x, height: tall }),
    drawBand(run, scale),
    s("path", { class: "head-line", d: `M${x} 0V${tall + 3}` }),
    [...y].map(([node, at]) => s("text", { class: "time-name", x: left - 12, y: at + 4 }, String(node))),
    s("g", { class: "time-axis", transform: `translate(0 ${tall})` }, drawAxis(run, scale)),
  );
  const entries = seen.bars.slice(0, 40).map((it) => ` Node ${it.node} is inside from step ${it.from} to ${it.to ?? "the end"}.`);
  return copied("run-time", drawn, () => ofRun(run, drawn, `Steps ${Math.ceil(lo)} to ${Math.min(run.last, Math.floor(hi))}, one row for each node; ${seen.messages.length} messages.${entries.join("")}`));
}

const text = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;

/** Draws a picture at double size. */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(svg))}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * SHARPER, height: image.height * SHARPER });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}

/** Offers pictures: each with a title, a few words, the name of its file without the ending, and what draws it. */
export function offer(words, pictures) {
  const told = h("div", { role: "alert" });
  const way = ({ title, words, file, draw }) => {
    const button = (ending, make) => h("button", { class: "button", "aria-label": `${title} as ${ending.toUpperCase()}`, onclick: () => make().then((blob) => save(`${file}.${ending}`, blob), () => fill(told, h("p", { class: "wrong" }, "This browser cannot draw the picture. Save it as SVG."))) }, ending.toUpperCase());
    return wayOut(title, words, [button("svg", async () => new Blob([text(draw())], { type: "image/svg+xml" })), button("png", () => png(draw()))]);
  };
  dialog("Export pictures", h("p", {}, words), pictures.filter(Boolean).map(way), told);
}

export function exportView(run) {
  if (!run.setting) return;
  const file = (rest) => named(run, `step-${run.at}-${rest}`);
  offer(`${about(run)}, step ${run.at} of ${run.last}, in the colours of the page.`, [document.querySelector("svg.graph") && { title: "Graph", words: "Nodes, tokens, and the ways to them.", file: file("graph"), draw: () => graphPicture(run) }, { title: "Time", words: "The window of time that is shown.", file: file("time"), draw: () => timePicture(run) }]);
}
