// The keys of the player. They are those of a presenter's remote, too.

import { announce } from "../dom.js";
import { byKey, toMessage } from "./acts.js";
import { branchesView } from "./branches.js";
import { exportView } from "./export.js";
import { shareView } from "./share.js";

/** [{name, words, call}]: names as keys.js has them. Those without words are second names. */
export function playerKeys(player) {
  const { run, transport } = player;
  const key = (name, words, call) => ({ name, words, call });
  const message = (kind) => () => toMessage(run, run.current, run.message ?? run.current?.flight[0]?.id, kind);
  const back = () => void run.step(-1);
  const on = () => void transport.step();
  const choose = (node) => {
    if (node >= (run.setting?.nodes ?? 0)) return false;
    run.choose(run.chosen === node ? null : node);
    announce(run.current?.nodes[run.chosen]?.words ?? "no node is chosen");
    return true;
  };
  /** The next message in flight, in their order. */
  const next = (by) => () => {
    const flight = run.current?.flight ?? [];
    if (!flight.length) return false;
    const index = flight.findIndex((it) => it.id === run.message);
    const to = flight[index < 0 ? (by > 0 ? 0 : flight.length - 1) : (index + by + flight.length) % flight.length];
    run.chooseMessage(to.id);
    announce(`${to.text} from ${to.from} to ${to.to}`);
    return true;
  };
  const goTo = () => {
    transport.input.focus();
    transport.input.select();
  };
  const nodes = Array.from({ length: 10 }, (_, node) => key(String(node), node === 0 ? "choose node 0; 1 to 9 as well" : null, () => choose(node)));
  /** Does something with the chosen node, or says why not. */
  const chosen = (why, ...kinds) => () => byKey(run, run.chosen, kinds) || player.tell(run.chosen === null ? "No node is chosen: choose one by its number, 0 to 9." : `Node ${run.chosen} ${why}.`);
  const acting = run.canAct ? [
    key("R", "request of the chosen node", chosen("cannot request now", "request")),
    key("E", "exit of the chosen node", chosen("is not inside", "exit")),
    key("T", "timer of the chosen node", chosen("has no timer that runs", "expire")),
    key("C", "crash or restart the chosen node", chosen("cannot crash", "crash", "restart")),
    key("D", "deliver the chosen message, or the first", message("deliver")),
    key("L", "lose it", message("lose")),
    key("U", "duplicate it", message("duplicate")),
  ] : [];
  const branches = player.offline ? [] : [key("B", "branches of this run", () => void branchesView(run))];
  // A page of another site shows the run, and not what one does with it.
  const online = player.offline || "embed" in document.documentElement.dataset ? [] : [
    key("F", "find a state", () => player.find()),
    key("S", "share", () => void shareView(run)),
    key("X", "export", () => void exportView(run)),
    key("/", "find an algorithm", () => player.settings?.openAlgorithms()),
  ];
  return [
    key("Space", "play, pause", () => transport.toggle()),
    key("ArrowRight", "step; also page down and the full stop", on),
    key("PageDown", null, on),
    key(".", null, on),
    key("ArrowLeft", "back; also page up and the comma", back),
    key("PageUp", null, back),
    key(",", null, back),
    key("Shift ArrowRight", "to the next entry", () => void run.nextEntry(1)),
    key("Shift ArrowLeft", "to the entry before", () => void run.nextEntry(-1)),
    key("Home", "to the start", () => (run.pause(), void run.go(0))),
    key("End", "to the end", () => (run.pause(), void run.go(run.last))),
    key("G", "go to a step", goTo),
    key("+", "faster", () => transport.faster(1)),
    key("=", null, () => transport.faster(1)),
    key("-", "slower", () => transport.faster(-1)),
    key("−", null, () => transport.faster(-1)),
    key("[", "zoom time out", () => player.time.zoom(-1) || player.tell("All steps are shown.")),
    key("]", "zoom time in", () => player.time.zoom(1) || player.tell("So few steps cannot be shown larger.")),
    ...nodes,
    ...acting,
    key("J", "next message", next(1)),
    key("K", "message before", next(-1)),
    ...branches,
    ...online,
    key("P", "for a projector, and back", () => player.stage()),
    key("Escape", "leave the projector, choose nothing", () => {
      if ("stage" in document.documentElement.dataset) return player.stage(false);
      if (run.chosen === null && run.message === null) return false;
      run.choose(null);
      run.chooseMessage(null);
      return true;
    }),
  ];
}
