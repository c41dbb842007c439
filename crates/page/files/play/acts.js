// What can be done in a state: the steps that the server lists, as buttons and menus. Where the algorithm picks, the seed decides
// unless the reader chooses.

import { h } from "../dom.js";

const WORDS = { request: "Request", exit: "Exit", cancel: "Cancel", expire: "Timer", crash: "Crash", restart: "Restart", deliver: "Deliver", lose: "Lose", duplicate: "Duplicate" };
const BEYOND = "beyond what it claims to bear";
const bare = (step) => step.replace(/\/.*$/, "");

/** The steps of a state, the variants of one act together: [{kind, node, message, step, text, tolerated, variants}]. */
export function acts(state, fits) {
  const found = new Map();
  for (const it of state?.can ?? []) {
    if (!fits(it)) continue;
    const key = bare(it.step);
    if (!found.has(key)) found.set(key, { ...it, step: key, variants: [] });
    if (it.step !== key || it.does.length) found.get(key).variants.push(it);
  }
  return [...found.values()];
}

export const nodeActs = (state, node) => acts(state, (it) => it.node === node && it.message === null);
export const messageActs = (state, id) => acts(state, (it) => it.message === id);

/** What tells acts of one kind apart: the client, the group, the timer. */
function which(run, act) {
  const [, client] = /^(?:req|exit|cancel)\d+\.(\d+)/.exec(act.step) ?? [];
  const [, groups] = /^req[\d.]+:([\d+]+)/.exec(act.step) ?? [];
  const [, timer] = /^tmo\d+(?::(\d+))?/.exec(act.step) ?? [];
  const words = [];
  if (run.setting.clients > 1 && ["request", "exit", "cancel"].includes(act.kind)) words.push(`client ${client ?? 0}`);
  if (act.kind === "request" && run.setting.groups > 1) words.push(groups?.includes("+") ? `any of groups ${groups.replaceAll("+", ", ")}` : `group ${groups ?? 0}`);
  if (act.kind === "expire") words.push(run.catalogueEntry?.timers[Number(timer ?? 0)]?.[0] ?? "");
  return words.filter(Boolean).join(", ");
}

/** The label of an act, for a button. */
export const label = (run, act) => [WORDS[act.kind] ?? act.text, which(run, act)].filter(Boolean).join(" ");

let open = null;

/** A menu beside an element: [{words, more, beyond, call}]. Escape and a click elsewhere close it. */
export function menu(anchor, title, items) {
  open?.remove();
  const list = h("div", { class: "menu", popover: "auto", role: "menu", "aria-label": title }, h("p", { class: "menu-title", role: "presentation" }, title), items.map(({ words, more, beyond, call }) => h("button", { role: "menuitem", onclick: () => (list.hidePopover(), call()) }, h("span", {}, words), more && h("span", { class: "quiet" }, more), beyond && h("span", { class: "beyond" }, BEYOND))));
  list.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    list.remove();
    if (document.activeElement === document.body) anchor.focus?.();
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...list.querySelectorAll("button")];
    buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length].focus();
  });
  (document.getElementById("main") ?? document.body).append(list);
  open = list;
  list.showPopover();
  const [at, size] = [anchor.getBoundingClientRect(), list.getBoundingClientRect()];
  const below = at.bottom + 4 + size.height < innerHeight;
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  list.style.top = `${Math.max(8, below ? at.bottom + 4 : at.top - size.height - 4)}px`;
  list.querySelector("button")?.focus();
}

const variants = (run, act) => [
  { words: `${label(run, act)}: the seed picks`, more: act.step, call: () => run.act(act.step) },
  ...act.variants.map((it) => ({ words: it.does.join("; ") || it.text, more: it.step, call: () => run.act(it.step) })),
];

/** Offers what an act can pick, if it can pick. */
export function pick(run, act, anchor) {
  if (act.variants.length > 1) menu(anchor, act.text, variants(run, act));
  else run.act(act.variants[0]?.step ?? act.step);
}

/** An act as a button, with a second one beside it where there is something to pick. */
export function button(run, act, { small = false, words = label(run, act) } = {}) {
  const kind = `button ${small ? "small" : ""} ${act.tolerated ? "" : "beyond"}`;
  const said = `${words}: ${act.text}${act.tolerated ? "" : `; ${BEYOND}`}`;
  const main = h("button", { class: kind, title: `${said} (${act.step})`, "aria-label": said, "data-step": act.step, onclick: () => run.act(act.variants.length === 1 ? act.variants[0].step : act.step) }, words);
  if (act.variants.length < 2) return main;
  const more = h("button", { class: `${kind} more`, "aria-label": `▾ ${act.text}: choose what it picks`, title: "choose what it picks", "aria-haspopup": "menu", onclick: () => menu(more, act.text, variants(run, act)) }, "▾");
  return h("span", { class: "split" }, main, more);
}

/** Several acts of a kind behind one button. */
export function several(run, list, words, small) {
  if (list.length === 1) return button(run, list[0], { small, words: small ? words : label(run, list[0]) });
  const more = h("button", { class: `button has-menu ${small ? "small" : ""}`, "aria-haspopup": "menu", "aria-label": `${words} of node ${list[0].node}`, "data-step": list[0].step, onclick: () => menu(more, `${words}, node ${list[0].node}`, list.flatMap((act) => (act.variants.length > 1 ? variants(run, act) : [{ words: label(run, act), more: act.step, beyond: !act.tolerated, call: () => run.act(act.variants[0]?.step ?? act.step) }]))) }, words);
  return more;
}

/** The acts of a node as buttons, those of a kind together. */
export function nodeButtons(run, state, node) {
  const kinds = Map.groupBy ? Map.groupBy(nodeActs(state, node), (act) => act.kind) : new Map();
  return [...kinds.values()].map((list) => (list.length > 2 ? several(run, list, WORDS[list[0].kind], false) : list.map((act) => button(run, act))));
}

/** What one does first with a node: one small button. */
export function firstAct(run, state, node) {
  const list = nodeActs(state, node);
  for (const kind of ["exit", "request", "restart", "cancel"]) {
    const found = list.filter((act) => act.kind === kind);
    if (found.length) return several(run, found, WORDS[kind], true);
  }
  return null;
}

/** Does an act of a node by its kinds, as keys do. Returns false if there is none. */
export function byKey(run, node, kinds) {
  if (node === null || !run.canAct) return false;
  const found = nodeActs(run.current, node).find((act) => kinds.includes(act.kind));
  if (!found) return false;
  run.act(found.variants.length === 1 ? found.variants[0].step : found.step);
  return true;
}

/** The menu of a message: deliver, lose, duplicate. */
export function messageMenu(run, state, message, anchor) {
  const list = messageActs(state, message.id);
  const items = list.flatMap((act) => (act.variants.length > 1 ? variants(run, act) : [{ words: WORDS[act.kind], more: act.step, beyond: !act.tolerated, call: () => run.act(act.variants[0]?.step ?? act.step) }]));
  if (items.length) menu(anchor, `${message.text} from ${message.from} to ${message.to}`, items);
}

/** Does something to a message, as a click or a key does. */
export function toMessage(run, state, id, kind, anchor) {
  const act = messageActs(state, id).find((it) => it.kind === kind);
  if (!act || !run.canAct) return false;
  if (anchor) pick(run, act, anchor);
  else run.act(act.step);
  return true;
}
