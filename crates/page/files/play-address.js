// The address of a run in the player: the setting in words, the whole run in the fragment.

import { ask } from "./ask.js";
import { address } from "./router.js";

/** The setting as the query of an address, without what is left out anyway. */
export function settingQuery({ nodes, tokens, groups, clients, options, defect, links, seed }) {
  const set = Object.entries(options ?? {}).map(([name, value]) => `${name}:${value}`).join(",");
  return { n: nodes, k: tokens, groups: groups > 1 ? groups : null, clients: clients > 1 ? clients : null, set, defect, links, seed };
}

/** The address that plays these steps, at state `at`. The server packs the run: it knows how to read it again. */
export async function playAddress(setting, steps, at = 0) {
  const { run } = await ask("/player/share", { method: "POST", body: JSON.stringify({ ...setting, steps }) });
  return `${address(`play/${encodeURIComponent(setting.algorithm)}`, { ...settingQuery(setting), at: String(at) })}#r=${run}`;
}
