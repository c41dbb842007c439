// One exhibit: what is printed, what is right, the run that shows the difference, and the ways to play it.

import { fill, h, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { sentence, wrong } from "../live/states.js";
import { playAddress } from "../play-address.js";
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
  try {
    const { steps, violated } = await server.play({ ...setting, steps: exhibit.steps, want: [0] }, signal);
    return { setting, steps, violated };
  } catch (error) {
    if (typeof error.fits !== "number") throw error;
    return { setting, steps: exhibit.steps.slice(0, error.fits), violated: null };
  }
}

const back = () => h("a", { class: "button", href: address("gallery") }, "See the gallery");

export function exhibitView(root, { match }) {
  const [algorithm, defect] = [match[1], match[2]].map(decodeURIComponent);
  const leaving = new AbortController();
  const view = h("div", { class: "view exhibit" });
  root.append(view);
  server.gallery().then((all) => {
    if (leaving.signal.aborted) return;
    const index = all.findIndex((it) => it.algorithm === algorithm && it.defect === defect);
    if (index < 0) wrong(root, "There is no such error", `${algorithm} has no defect ${defect}.`, back());
    else show(view, all, index, leaving.signal);
  }, (error) => leaving.signal.aborted || wrong(root, "The gallery is not there", sentence(error.message), back()));
  return { title: defect, leave: () => leaving.abort("left") };
}

function show(view, all, index, signal) {
  const exhibit = all[index];
  const { steps, setting } = exhibit;
  const told = h("ol", { class: "told" });
  const verdict = h("p", {});
  const difference = h("p", { class: "quiet" });
  const trouble = h("p", { class: "wrong", role: "alert" });
  const right = asRight(exhibit, signal);
  const attempt = (act) => () => act().catch((error) => signal.aborted || say(trouble, sentence(error.message)));
  const watch = h("button", { class: "button main", onclick: attempt(() => watchIt(exhibit)) }, icon("play", 14), exhibit.leads === "dearer" ? "Watch it" : "Watch it fail");
  const see = h("button", { class: "button", onclick: attempt(async () => {
    const it = await right;
    go(await playAddress(it.setting, it.steps, it.steps.length));
  }) }, "See it right");
  const near = (offset, text) => all[index + offset] && h("a", { class: "button", href: address(exhibitPath(all[index + offset])), title: all[index + offset].defect }, text);
  const size = [`n = ${setting.nodes}`, `k = ${setting.tokens}`, setting.groups > 1 && many(setting.groups, "group"), `${setting.links === "fifo" ? "messages in order" : "messages in any order"}`, ...Object.entries(setting.options).map(([name, value]) => `${name} = ${value}`)].filter(Boolean);
  const title = exhibit.shortest ? "The shortest run" : "A run";
  fill(
    view,
    h("div", { class: "strip-top" }, h("h1", {}, h("a", { class: "up", href: address("gallery") }, "Gallery"), h("span", { class: "slash", "aria-hidden": "true" }, "/"), exhibit.defect), leadsTag(exhibit), h("div", { class: "acts" }, near(-1, "Previous"), near(1, "Next"))),
    h("section", { class: "panel what", "aria-label": "What is printed" }, h("div", { class: "bar" }, h("h2", {}, exhibit.mutant ? "The defect" : "What is printed"), h("p", { class: "quiet" }, `${exhibit.algorithm}, ${exhibit.where}`)), sides(exhibit), h("div", { class: "leads-to" }, h("h3", {}, "What it leads to"), verdict, difference), h("div", { class: "ways" }, watch, see, trouble), h("p", { class: "quiet of-text" }, TEXTS[group(exhibit)])),
    h("section", { class: "panel drawn", "aria-label": title }, h("div", { class: "bar" }, h("h2", {}, title), h("p", { class: "quiet" }, `${many(steps.length, "step")}${exhibit.shortest ? "; no run with fewer shows it" : ""} · ${size.join(", ")}`)), picture(exhibit, { width: innerWidth < 700 ? 380 : 760, height: Math.min(330, 90 + 38 * Math.min(setting.nodes, 8)), steps }), told),
  );
  say(verdict, exhibit.leads === "dearer" ? "No property is violated. The run sends more messages than the right rule would." : `Violates ${exhibit.leads}: ${leads(exhibit.leads)}.`);
  const from = Math.max(1, steps.length - TOLD + 1);
  server.play({ ...setting, steps, want: [[from, steps.length]] }, signal).then(({ states, violated }) => {
    const end = states.at(-1).properties.find((it) => it.name === exhibit.leads && it.verdict === "violated");
    const earlier = violated && violated.property !== exhibit.leads && `Before that, step ${count(violated.at)} violates ${violated.property}: ${violated.detail}.`;
    if (exhibit.leads !== "dearer") fill(verdict, "Violates ", h("strong", {}, exhibit.leads), `: ${end?.detail || leads(exhibit.leads)}`, end ? `, after step ${count(steps.length)}. ` : ". This state alone does not show it: the checker looked at all that can follow. ", earlier);
    fill(told, from > 1 && h("li", { class: "quiet" }, h("span", {}), h("span", {}), `${many(from - 1, "step")} before`), states.map((state) => h("li", { class: violated?.at === state.at ? "broken" : null }, h("span", { class: "quiet" }, String(state.at)), h("code", {}, state.step), h("span", {}, state.sentence))));
  }).catch((error) => signal.aborted || say(trouble, sentence(error.message)));
  right.then((it) => {
    const all = it.steps.length === steps.length;
    say(difference, all ? (it.violated ? "" : `By the right rule ${steps.length === 1 ? "the same step violates" : "the same steps violate"} nothing.`) : `By the right rule the run is the same up to step ${count(it.steps.length)}; step ${count(it.steps.length + 1)}, ${steps[it.steps.length]}, cannot happen then.`);
  }).catch(() => {});
}
