// Clients that keep a cluster of five nodes busy, for pictures: what each of them acquires, for how long, and how it calls itself.

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const plain = () => "";
const CLIENTS = [
  ["gpu", () => "&slots=3", ["train.py --fold 3", "train.py --fold 5", "train.py --fold 6", "render-preview", "export-onnx", "eval.sh v41", "eval.sh v42"], 4000, 600],
  ["render/frames", () => "&slots=4", ["frames 0-99", "frames 100-199", "frames 200-299", "frames 300-399", "frames 400-499"], 3000, 300],
  ["license/solver", () => "&slots=5", ["solve", "solve again", "batch"], 5000, 2000],
  ["model", (turn) => `&group=${turn % 2 ? "v41" : "v42"}`, ["serve a", "serve b", "serve c", "serve d"], 3000, 1000],
  ["config", (turn) => `&mode=${turn % 4 ? "shared" : "exclusive"}`, ["read", "reload", "write"], 2500, 600],
  ["backup", plain, ["nightly", "by hand"], 5000, 2000],
  ["deploy/api", plain, ["deploy 118", "deploy 119"], 4000, 2000],
  ...["migrate/orders", "deploy/web", "nightly-report", "cache-warm", "rotate-logs"].map((name) => [name, plain, ["cron"], 6000, 5000]),
];

/** Starts them. The answer ends them: call it before the stage ends, and wait for what it returns after that. */
export async function lively(stage) {
  let ends = false;
  /** Acquires, holds and releases, again and again. */
  async function client(name, query, label, hold, rest) {
    for (let turn = 0; !ends; turn += 1) {
      const node = Math.floor(Math.random() * stage.nodes.length);
      const lock = `/v1/locks/${encodeURIComponent(name)}`;
      try {
        const { grant } = await stage.ask("POST", `${lock}/acquire?wait=60s&label=${encodeURIComponent(label)}${query(turn)}`, node);
        await pause(hold * (0.5 + Math.random()));
        await fetch(`http://${stage.nodes[node].http}${lock}?grant=${encodeURIComponent(grant)}`, { method: "DELETE" });
      } catch (error) {
        if (!ends) console.error(error.message);
      }
      await pause(rest * Math.random());
    }
  }
  for (const [name, slots] of [["gpu", 3], ["license/solver", 5]]) await stage.ask("PUT", `/v1/definitions/${encodeURIComponent(name)}?kind=semaphore&slots=${slots}`);
  const clients = CLIENTS.flatMap(([name, query, labels, hold, rest]) => labels.map((label) => client(name, query, label, hold, rest)));
  return () => {
    ends = true;
    return Promise.allSettled(clients);
  };
}
