// Branches: acting in the past keeps the old future. Here it is taken up again.

import { announce, h } from "../dom.js";
import { dialog } from "../frame.js";
import { many } from "../words.js";

export function branchesView(run) {
  const { close } = dialog(
    "Branches of this run",
    h("p", {}, run.branches.length ? "Runs that you left. Taking one up puts this run in its place: nothing is lost." : "There is one run so far. Go back, act otherwise, and the old future is kept here."),
    run.branches.length > 0 && h("ul", { class: "branch-list" }, run.branches.map((branch, index) => h("li", {}, h("span", {}, branch.name, h("br", {}), h("span", { class: "quiet" }, `${many(branch.steps.length, "step")} in all`)), h("button", { class: "button", "aria-label": `Take up: ${branch.name}`, onclick: async () => {
      close();
      if (await run.switchBranch(index)) announce(`Branch taken up at step ${run.at} of ${run.last}`);
    } }, "Take up")))),
  );
}
