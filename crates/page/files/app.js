// Begin here: the frame, the views and their addresses, the keys. What is shown of a cluster comes from live/model.js, what is
// shown of a run from play/model.js.

import { compareView } from "./compare/compare.js";
import * as frame from "./frame.js";
import { exhibitView } from "./gallery/exhibit.js";
import { galleryView } from "./gallery/gallery.js";
import * as keys from "./keys.js";
import { toggleHold, eventsView } from "./live/events.js";
import { live } from "./live/model.js";
import { nameView } from "./live/name.js";
import { nodeView, overview } from "./live/overview.js";
import { command, tokenForm, trouble, wrong } from "./live/states.js";
import { openView, recordingView } from "./open.js";
import { playRoute, storyRoute } from "./play/routes.js";
import { abilities } from "./play/source.js";
import * as router from "./router.js";
import { h } from "./dom.js";

const main = document.getElementById("main");

// A server without a cluster has nothing live to show, and one without a player nothing to play.
const can = await abilities();
if (can.cluster) {
  router.route(/^(?:live\/?)?$/, overview);
  router.route(/^name\/(.+)$/, nameView);
  router.route(/^node\/(\d{1,9})$/, nodeView);
  router.route(/^events\/?$/, eventsView);
} else router.route(/^(?:live\/?)?()$/, playRoute);
if (can.player) {
  router.route(/^play(?:\/(.*))?$/, playRoute);
  router.route(/^story\/(.+)$/, storyRoute);
  router.route(/^gallery\/?$/, galleryView);
  router.route(/^gallery\/([^/]+)\/([^/]+)$/, exhibitView);
  router.route(/^compare(?:\/([^/]+)\/([^/]+))?\/?$/, compareView);
  router.route(/^open\/?$/, openView);
  router.route(/^recording\/?$/, recordingView);
} else router.route(/^(?:play|story|gallery|compare|open|recording)\b/, (root) => {
  wrong(root, "This node has no player", "It was started without one. On your own machine, this plays every algorithm:", command("tokenwood play"));
  return { title: "No player" };
});
router.route(/./, (root, { path }) => {
  wrong(root, "There is no such view", `The address /ui/${path} is not one of this page, or of a newer one.`, h("a", { class: "button", href: can.cluster ? "/ui/live" : "/ui/play" }, can.cluster ? "See the cluster" : "Play an algorithm"));
  return { title: "No such view" };
});

if (can.cluster) {
  keys.key("Space", "hold the picture still, and go on", toggleHold);
  keys.key("/", "find a name", frame.focusSearch);
  keys.key("L", "see the cluster", () => router.go(router.address("live")));
  keys.key("E", "see all events", () => router.go(router.address("events")));
}
keys.key("J", "next row", () => router.current()?.step?.(1) ?? false);
keys.key("K", "previous row", () => router.current()?.step?.(-1) ?? false);
keys.key("?", "show this", keys.help);
keys.start();

const drawBar = frame.start(document.getElementById("top"), document.getElementById("tabs"), can);
const bar = trouble();
main.before(bar.element);
router.start(main);

let [asks, form] = [false, null];
live.addEventListener("change", ({ detail }) => {
  drawBar();
  bar.update();
  const needs = live.problem?.status === 401;
  if (needs && !asks) {
    main.replaceChildren((form = tokenForm()));
    form.querySelector("input").focus();
  }
  if (needs || (asks && !live.heard)) form.tell(live.problem);
  else if (asks && !needs && live.heard) {
    router.open();
    // What the server can do was not told without a token.
    abilities().then((now) => now.player !== can.player && location.reload());
  }
  asks = needs || (asks && !live.heard);
  if (!asks) router.current()?.update?.(detail);
});
drawBar();
if (can.cluster) live.start();
