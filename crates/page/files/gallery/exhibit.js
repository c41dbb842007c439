// One exhibit: what is printed, what is right, the run that shows the difference, and the ways to play it.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { sentence, wrong } from "../live/states.js";
import { playAddress } from "../play-address.js";
import { changedRules } from "../play/printed.js";
import { server } from "../play/source.js";
import { address, go } from "../router.js";
import { count, many } from "../words.js";
import { leadsTag, sides, watchIt } from "./card.js";
import { TEXTS, exhibitPath, group, leads } from "./data.js";
import { picture } from "./outline.js";

/** So many steps are told in words: the last ones. */
const TOLD = 30;

/** The same steps without the defect, as far as they fit: {setting, steps, violated}. */
async function asRight(exhibit, signal) {
  const setting = { ...exhibit.setting, defect: null };
  return { ...(await server.play({ ...setting, steps: exhibit.steps, want: [0] }, signal)), setting };
}

export function exhibitView(root, { match }) {
  const [algorithm, defect] = [match[1], match[2]].map(decodeURIComponent);
  const leaving = new AbortController();
  const fail = (title, text) => leaving.signal.aborted || wrong(root, title, text, h("a", { class: "button", href: address("gallery") }, "See the gallery"));
  server.gallery().then((all) => {
    if (leaving.signal.aborted) return;
    const index = all.findIndex((it) => it.algorithm === algorithm && it.defect === defect);
    if (index < 0) fail("There is no such error", `${algorithm} has no defect ${defect}.`);
    else show(root, all, index, leaving.signal);
  }, (error) => fail("The gallery is not there", sentence(error.message)));
  return { title: defect, leave: () => leaving.abort("left") };
}

function show(root, all, index, signal) {
  const exhibit = all[index];
  const { steps, setting, mutant, shortest } = exhibit;
  const dearer = exhibit.leads === "dearer";
  const told = h("ol", { class: "told" });
  const verdict = h("p", {}, dearer ? "No property is violated. The run sends more messages than the right rule would." : "");
  const difference = h("p", { class: "quiet" });
  const trouble = h("p", { class: "wrong", role: "alert" });
  const right = asRight(exhibit, signal);
  const failed = (error) => signal.aborted || say(trouble, sentence(error.message));
  const way = (kind, act, ...text) => h("button", { class: `button ${kind}`, onclick: () => act().catch(failed) }, text);
  const see = async () => {
    const it = await right;
    go(await playAddress(it.setting, it.steps, it.steps.length));
  };
  const near = (offset, text) => all[index + offset] && h("a", { class: "button", href: address(exhibitPath(all[index + offset])), title: all[index + offset].defect }, text);
  const size = [`n = ${setting.nodes}`, `k = ${setting.tokens}`, setting.groups > 1 && many(setting.groups, "group"), `messages in ${setting.links === "fifo" ? "" : "any "}order`, ...Object.entries(setting.options).map(([name, value]) => `${name} = ${value}`)].filter(Boolean).join(", ");
  const panel = (kind, title, about, ...rest) => h("section", { class: `panel ${kind}`, "aria-label": title }, h("div", { class: "bar" }, h("h2", {}, title), h("p", { class: "quiet" }, about)), rest);
  root.append(h(
    "div",
    { class: "view exhibit" },
    h("div", { class: "strip-top" }, h("h1", {}, h("a", { class: "up", href: address("gallery") }, "Gallery"), h("span", { class: "slash", "aria-hidden": "true" }, "/"), exhibit.defect), leadsTag(exhibit), h("div", { class: "acts" }, near(-1, "Previous"), near(1, "Next"))),
    panel("what", mutant ? "The defect" : "What is printed", `${exhibit.algorithm}, ${exhibit.where}`, sides(exhibit), exhibit.rules.length > 0 && h("div", { class: "in-rules" }, h("h3", {}, `In the rules of ${exhibit.algorithm}`), changedRules(exhibit.rules, true)), h("div", { class: "leads-to" }, h("h3", {}, "What it leads to"), verdict, difference), h("div", { class: "ways" }, way("main", () => watchIt(exhibit), icon("play", 14), dearer ? "Watch it" : "Watch it fail"), way("", see, "See it right"), trouble), h("p", { class: "quiet" }, TEXTS[group(exhibit)])),
    panel("drawn", shortest ? "The shortest run" : "A run", `${many(steps.length, "step")}${shortest ? "; no run with fewer shows it" : ""} · ${size}`, picture(exhibit, { width: innerWidth < 700 ? 380 : innerWidth < 1100 ? innerWidth - 60 : Math.round((innerWidth - 100) * 0.61), height: Math.min(330, 90 + 38 * Math.min(setting.nodes, 8)), steps }), told),
  ));
  const from = Math.max(1, steps.length - TOLD + 1);
  server.play({ ...setting, steps, want: [[from, steps.length]] }, signal).then(({ states, violated }) => {
    const end = states.at(-1).properties.find((it) => it.name === exhibit.leads && it.verdict === "violated");
    const earlier = violated && violated.property !== exhibit.leads && `${violated.at < steps.length ? `Before that, step ${count(violated.at)}` : "The same step"} violates ${violated.property}: ${violated.detail}.`;
    if (!dearer) fill(verdict, "Violates ", h("strong", {}, exhibit.leads), `: ${end?.detail || leads(exhibit.leads)}`, end ? `, after step ${count(steps.length)}. ` : ". This state alone does not show it: the checker looked at all that can follow. ", earlier);
    fill(told, from > 1 && h("li", { class: "quiet" }, `${many(from - 1, "step")} before`), states.map(({ at, step, sentence }) => h("li", { class: violated?.at === at ? "broken" : null }, h("span", { class: "quiet" }, String(at)), h("code", {}, step), h("span", {}, sentence))));
  }).catch(failed);
  right.then((it) => {
    const fit = it.steps.length;
    say(difference, fit < steps.length ? `By the right rule the run is the same up to step ${count(fit)}; step ${count(fit + 1)}, ${steps[fit]}, cannot happen then.` : it.violated ? "" : "By the right rule the same steps violate nothing.");
  }).catch(() => {});
}
