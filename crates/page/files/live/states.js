// What the page shows when there is nothing to show, or not yet, or not to this reader.

import { hasToken, useToken } from "../ask.js";
import { fill, h, s, say } from "../dom.js";
import { icon } from "../draw/icons.js";
import { lasted, many } from "../words.js";
import { live } from "./model.js";

/** A command for the shell, to copy. */
export function command(text) {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}`, onclick: copy }, icon("copy", 14), h("span", {}, "Copy"));
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      say(button.lastChild, "Copied");
    } catch {
      // Without a secure connection there is no clipboard: the text can be selected.
      getSelection()?.selectAllChildren(code);
      say(button.lastChild, "Selected");
    }
  }
  const code = h("code", {}, text);
  return h("p", { class: "command" }, code, button);
}

/** Nothing is held: what there is, and the command that changes that. */
export function empty(cluster) {
  const nodes = cluster?.nodes.length ?? 0;
  const rings = Array.from({ length: Math.min(5, Math.max(1, nodes)) }, (_, at) => [s("circle", { cx: 20 + at * 38, cy: 18, r: 14.5 }), s("circle", { cx: 20 + at * 38, cy: 18, r: 9.5 })]);
  return h(
    "div",
    { class: "state" },
    s("svg", { class: "rings", width: rings.length * 38 + 2, height: 36, "aria-hidden": "true" }, rings),
    h("h3", {}, "Nothing is held"),
    h("p", {}, nodes ? `${many(nodes, "node is", "nodes are")} up and agree. ` : "", "Names need no creation: type this, and one appears here."),
    command("tokenwood run gpu -- sleep 20"),
  );
}

/** The shape of the rows, if the answer takes longer than a moment; then what the page waits for. */
export function loading() {
  const widths = [122, 96, 130, 85, 115, 105, 127];
  const lines = widths.map((width) => s("g", {}, s("rect", { x: 16, y: 19, width, height: 11, rx: 5.5 }), s("rect", { x: 214, y: 14, width: 72, height: 20, rx: 10 }), s("rect", { x: 420, y: 14, width: 48, height: 20, rx: 10 })));
  return h(
    "div",
    { class: "loading" },
    lines.map((line) => s("svg", { width: "100%", height: 48, "aria-hidden": "true" }, line)),
    h("p", { class: "quiet late", role: "status" }, "Waiting for this node to list what is held at all nodes."),
  );
}

/** A bar above everything: the picture is old, or the node refuses. One place for all troubles of the connection. */
export function trouble() {
  const text = h("span", {});
  const more = h("span", { class: "detail" });
  const again = h("button", { class: "link", onclick: () => live.retry() }, "Try now");
  const element = h("div", { class: "trouble", role: "alert", hidden: true }, h("p", {}, text, " ", more), again);
  return {
    element,
    update() {
      const { problem } = live;
      const shown = live.old || (problem && problem.status !== 401 && !problem.silent) || (problem && live.heard === 0);
      // The form for a token says what is wrong with it.
      element.hidden = !shown || problem?.status === 401 || (document.querySelector(".ask-token") !== null && !problem?.silent);
      document.documentElement.toggleAttribute("data-old", live.old);
      if (element.hidden) return;
      if (live.old || problem?.silent) {
        say(text, live.heard ? `As it was ${lasted(Date.now() - live.heard)} ago.` : "No answer yet.");
        say(more, "This node is silent; the page goes on asking. Grants may go on without the page.");
      } else {
        say(text, problem.status === 403 ? "Not all is shown." : `${problem.title || "The node refuses"}.`);
        say(more, [sentence(problem.message), problem.hint && sentence(problem.hint)].filter(Boolean).join(" "));
      }
    },
  };
}

export const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "");

/** The cluster has rights: the page asks for a token, and keeps it in this tab only. */
export function tokenForm() {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, pattern: "\\s*[0-9a-fA-F]{64}\\s*" });
  const told = h("p", { class: "wrong", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!/^[0-9a-fA-F]{64}$/.test(text)) return say(told, "A token has 64 hexadecimal digits.");
    useToken(text);
    say(told, "");
    live.retry();
  };
  const element = h(
    "section",
    { class: "panel state ask-token" },
    icon("key", 30),
    h("h1", {}, "This cluster asks who you are"),
    h("p", {}, "Give a token that may read. It stays in this tab, is sent to this node only, and is forgotten when the tab is closed."),
    h("form", { onsubmit: submit, novalidate: true }, h("label", { for: "token" }, "Token"), field, h("button", { class: "button main" }, "Look")),
    told,
    h("p", { class: "quiet" }, "An administrator makes one:"),
    command("tokenwood auth token add watcher"),
  );
  /** What the node says to the token that it got: it does not know it, or it may not read. */
  element.tell = (problem) => {
    if (!hasToken() || !problem || problem.silent) return;
    say(told, problem.status === 401 ? "This node does not know the token: it may be mistyped, withdrawn, or of another cluster." : sentence(problem.message));
  };
  return element;
}

/** Replaces a view by an error: what happened, and one way on. */
export function wrong(place, title, text, way) {
  fill(place, h("section", { class: "panel state" }, h("span", { class: "bang", "aria-hidden": "true" }, "!"), h("h1", {}, title), h("p", {}, text), way));
}
