// Begin here: the frame, the views and their addresses, the keys. Everything that is shown comes from live/model.js.

import { compareView } from "./compare/compare.js";
import * as frame from "./frame.js";
import { exhibitView } from "./gallery/exhibit.js";
import { galleryView } from "./gallery/gallery.js";
import * as keys from "./keys.js";
import { toggleHold, eventsView } from "./live/events.js";
import { live } from "./live/model.js";
import { nameView } from "./live/name.js";
import { nodeView, overview } from "./live/overview.js";
import { tokenForm, trouble, wrong } from "./live/states.js";
import { openView } from "./open.js";
import * as router from "./router.js";
import { h } from "./dom.js";

const main = document.getElementById("main");

router.route(/^(?:live\/?)?$/, overview);
router.route(/^name\/(.+)$/, nameView);
router.route(/^node\/(\d{1,9})$/, nodeView);
router.route(/^events\/?$/, eventsView);
router.route(/^gallery\/?$/, galleryView);
router.route(/^gallery\/([^/]+)\/([^/]+)$/, exhibitView);
router.route(/^compare(?:\/([^/]+)\/([^/]+))?\/?$/, compareView);
router.route(/^open\/?$/, openView);
router.route(/./, (root, { path }) => {
  wrong(root, "There is no such view", `The address /ui/${path} is not one of this page, or of a newer one.`, h("a", { class: "button", href: "/ui/live" }, "See the cluster"));
  return { title: "No such view" };
});

keys.key("Space", "hold the picture still, and go on", toggleHold);
keys.key("/", "find a name", frame.focusSearch);
keys.key("J", "next row", () => router.current()?.step?.(1) ?? false);
keys.key("K", "last row", () => router.current()?.step?.(-1) ?? false);
keys.key("L", "see the cluster", () => router.go(router.address("live")));
keys.key("E", "see all events", () => router.go(router.address("events")));
keys.key("?", "show this", keys.help);
keys.start();

const drawBar = frame.start(document.getElementById("top"), document.getElementById("tabs"));
const bar = trouble();
main.before(bar.element);
router.start(main);

let asks = false;
live.addEventListener("change", ({ detail }) => {
  drawBar();
  bar.update();
  const needs = live.problem?.status === 401;
  if (needs && !asks) main.replaceChildren(tokenForm(live.problem.message));
  else if (asks && !needs && live.heard) router.open();
  asks = needs || (asks && !live.heard);
  if (!asks) router.current()?.update?.(detail);
});
drawBar();
live.start();
