// Acts: each says what follows before it is done, and the command that does the same from a shell. The node decides whether the
// reader may; a page that is embedded elsewhere offers none.

import { Problem, ask, lockPath } from "../ask.js";
import { announce, fill, h } from "../dom.js";
import { dialog } from "../frame.js";
import { KINDS, fence, lasted, quoted, who } from "../words.js";
import { live } from "./model.js";
import { command, sentence } from "./states.js";

/** Asks the node to act, and shows why it does not. */
async function act(button, told, name, call, done) {
  button.disabled = true;
  fill(told);
  try {
    const answer = await call();
    live.changed(name);
    live.retry();
    done(answer);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const denied = problem.status === 401 || problem.status === 403;
    fill(told, h("p", { class: "wrong" }, denied ? "You may look, and not do this. " : "", sentence(problem.message), " ", sentence(problem.hint)), denied && h("p", {}, "A principal with the right may, by the command above."));
  }
  button.disabled = false;
}

/** The form of an act: what it is about, the same for a shell, what the node says to it. Enter in a field does what the button does. */
function sheet(title, content, { shell, told, button }, submit) {
  const send = (event) => (event.preventDefault(), submit(close));
  const { box, close } = dialog(title, h("form", { onsubmit: send }, content, h("p", { class: "quiet" }, "The same from a shell:"), shell, told, h("div", { class: "buttons" }, h("button", { type: "button", class: "button", onclick: () => close() }, "Close"), button)));
  // What stands there is typed over.
  box.querySelector("[autofocus]").select();
}

const fields = (...rows) => h("div", { class: "fields" }, rows.map(([id, words, input]) => [h("label", { for: id }, words), input]));

/** Revokes a grant: names holder, node, slot and fence, and what follows. */
export function force(name, client) {
  const { name: label, at } = who(client.label);
  const now = h("input", { type: "radio", name: "when", value: "now", onchange: choose });
  const safe = h("input", { type: "radio", name: "when", value: "safe", checked: true, autofocus: true, onchange: choose });
  const typed = h("input", { id: "typed", autocomplete: "off", spellcheck: "false", oninput: choose });
  const confirm = h("div", { class: "fields", hidden: true }, h("label", { for: "typed" }, `Type ${name} to confirm`), typed);
  const told = h("div", { role: "alert" });
  const button = h("button", { class: "button danger" }, "Force release");
  const text = () => `tokenwood release --force ${quoted(name)} --slot ${client.slot}${now.checked ? " --now" : ""}`;
  const shell = h("div", {});
  function choose() {
    confirm.hidden = !now.checked;
    button.disabled = now.checked && typed.value !== name;
    fill(shell, command(text()));
  }
  const content = [
    h("p", {}, "Held by ", h("strong", {}, label), at ? `, ${at},` : "", ` at node ${client.node} for ${lasted(client.since_ms)}, fence `, h("code", {}, `${fence(client.fence)}`), ". The holder is told at once. The next waiter is granted the slot when the holder releases it, or when its promise has certainly run out", client.left_ms === null ? "." : `, after about ${lasted(client.left_ms)} at the latest.`),
    // A choice alone revokes nothing: Enter that opened this, and is held, must not.
    h("fieldset", { class: "choice", onkeydown: (event) => event.key === "Enter" && event.preventDefault() }, h("legend", { class: "hidden-text" }, "When the slot is free"), h("label", {}, safe, h("span", {}, "when the holder has let go ", h("span", { class: "quiet" }, "(safe)"))), h("label", {}, now, h("span", {}, "now ", h("span", { class: "red" }, "(breaks exclusion: two clients may hold the slot)")))),
    confirm,
  ];
  choose();
  const body = () => `{"slot":${client.slot},"fence":${client.fence},"at_once":${now.checked},"node":${client.node}}`;
  sheet(`Force release of ${name}, slot ${client.slot}`, content, { shell, told, button }, () => button.hidden || act(button, told, name, () => ask(lockPath(name, "force"), { method: "POST", body: body() }), (answer) => {
    const left = answer.revoked[0]?.free_in_ms ?? 0;
    announce(`Revoked slot ${client.slot} of ${name}`);
    fill(told, h("p", { class: "well" }, answer.revoked.length ? `Revoked. The slot is free ${left ? `within ${lasted(left)}` : "now"}.` : "The grant was gone already."));
    button.hidden = true;
  }));
}

/** Changes the number of slots. */
export function resize(name, slots, defined) {
  const number = h("input", { id: "slots", type: "number", min: 1, max: 1_000_000, value: slots, required: true, autofocus: true });
  const told = h("div", { role: "alert" });
  const button = h("button", { class: "button main" }, defined ? "Resize" : "Define");
  const text = () => (defined ? `tokenwood resize ${quoted(name)} ${number.value}` : `tokenwood define ${quoted(name)} --slots ${number.value}`);
  const shell = h("div", {}, command(text()));
  number.addEventListener("input", () => fill(shell, command(text())));
  const content = [
    h("p", {}, "Fewer slots: clients that hold keep theirs, and slots go as they are released. More slots: waiters are granted them at once."),
    fields(["slots", "Slots", number]),
  ];
  sheet(defined ? `Resize ${name}` : `Define ${name}`, content, { shell, told, button }, (close) => act(button, told, name, () => put(name, "semaphore", number.value), () => (announce(`${name} has ${number.value} slots`), close())));
}

const put = (name, kind, slots) => ask(`/v1/definitions/${encodeURIComponent(name)}`, { method: "PUT", body: JSON.stringify(kind === "semaphore" || kind === "mutex" ? { kind, slots: kind === "mutex" ? 1 : Number(slots) } : { kind }) });

/** Defines what a name stands for. */
export function define(given = "") {
  const name = h("input", { id: "define-name", value: given, required: true, autofocus: true, maxlength: 255, autocomplete: "off", spellcheck: "false" });
  const kind = h("select", { id: "define-kind" }, Object.entries(KINDS).map(([value, words]) => h("option", { value }, words)));
  const slots = h("input", { id: "define-slots", type: "number", min: 1, max: 1_000_000, value: 2, required: true });
  const told = h("div", { role: "alert" });
  const button = h("button", { class: "button main" }, "Define");
  const size = () => (kind.value === "mutex" ? "--slots 1" : kind.value === "semaphore" ? `--slots ${slots.value}` : `--${kind.value}`);
  const text = () => `tokenwood define ${quoted(name.value || "NAME")} ${size()}`;
  const shell = h("div", {});
  const row = h("div", { class: "fields" }, h("label", { for: "define-slots" }, "Slots"), slots);
  const change = () => {
    // A field that is not shown must not hold back the form.
    row.hidden = slots.disabled = kind.value !== "semaphore";
    fill(shell, command(text()));
  };
  for (const input of [name, kind, slots]) input.addEventListener("input", change);
  change();
  const content = [h("p", {}, "All clients get what is defined; requests for something else are refused. A name needs no definition to be used."), fields(["define-name", "Name", name], ["define-kind", "Kind", kind]), row];
  sheet("Define a name", content, { shell, told, button }, (close) => act(button, told, name.value, () => put(name.value, kind.value, slots.value), () => (announce(`${name.value} is defined`), close())));
}
