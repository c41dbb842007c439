// Answers that a small cluster on one machine cannot give: many nodes, ten thousand names, a node out of reach, a node that refuses.

const client = (node, more) => ({ node, session: 1, request: 1, state: "holds", since_ms: 1000, left_ms: null, label: null, slot: 0, fence: String(2n ** 40n + 7n), mode: null, group: null, groups: [], revoked: false, ...more });

/** Lets the page see a cluster of so many nodes, and a name that all of them want. The answers are those of the real one, copied. */
export async function pretend(page, nodes) {
  const waits = { state: "waits", slot: null, fence: null };
  const lock = {
    name: "huge", kind: "semaphore", slots: 12, home: nodes - 1, no_answer: [],
    clients: Array.from({ length: nodes }, (_, node) => client(node, { since_ms: 1000 * (nodes - node), ...(node < 12 ? { slot: node } : waits) })),
    tokens: Array.from({ length: 12 }, (_, slot) => ({ slot, node: slot, next: slot === 0 ? Array.from({ length: nodes - 12 }, (_, at) => 12 + at) : [] })),
    pointers: Array.from({ length: 12 * nodes }, (_, at) => ({ slot: at % 12, from: Math.floor(at / 12), to: nodes - 1 })).filter(({ slot, from, to }) => from !== slot && from !== to),
  };
  await page.route("**/v1/cluster*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, nodes: Array.from({ length: nodes }, (_, node) => ({ ...answer.nodes[node % answer.nodes.length], node })) } });
  });
  await page.route("**/v1/locks/huge*", (route) => route.fulfill({ json: lock }));
}

/** Ten thousand names at fifty nodes; some have long queues. */
export async function pretendNames(page, names = 10_000, nodes = 50) {
  const locks = Array.from({ length: names }, (_, at) => {
    const waiters = at % 97 === 3 ? 67 : at % 11 === 2 ? 2 : 0;
    return { name: `${["render", "shard", "tenant", "job"][at % 4]}/${String(at).padStart(4, "0")}`, kind: "mutex", slots: 1, home: at % nodes, clients: [client((at * 7) % Math.ceil(1 + ((at * 13) % nodes)), { since_ms: 50 * at }), ...Array.from({ length: waiters }, (_, place) => client((at + place * 3) % nodes, { state: "waits", slot: null, fence: null, since_ms: 12_000 - 170 * place }))] };
  });
  await page.route(/\/v1\/locks\?/, (route) => route.fulfill({ json: { locks: route.request().url().includes("&name=") ? [] : locks, next: null, no_answer: [] } }));
}

/** One node gives no answer, and what it knows is missing. */
export async function pretendSilent(page, silent) {
  await page.route("**/v1/cluster*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, nodes: answer.nodes.map((node) => (node.node === silent ? { ...node, answered: false, unreachable_ms: 6400, counts: null } : node)) } });
  });
  await page.route("**/v1/locks*/**", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: answer.clients ? { ...answer, no_answer: [silent], clients: answer.clients.filter((one) => one.node !== silent) } : answer });
  });
}

/** The node refuses everything below these paths. */
export const refuse = (page, paths, status, detail) => page.route(paths, (route) => (route.request().method() === "GET" && status === 403 ? route.fallback() : route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Refused", status, detail, hint: "ask an administrator for the right" }) })));
