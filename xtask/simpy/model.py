"""The model of crates/simulator with SimPy, for `cargo xtask bench-simulator`: same processors, same algorithm.

n nodes and k tokens under bulgannawar-vaidya with the last-seen choice and no INFORM. Each node has one processor.
Receiving a message takes it Tr, then the handler runs; every message that is to be sent takes it Ts, and those go before
the next one is received. What a client does acts at once. Between two nodes a message takes Tt. After each exit a
client thinks for an exponentially distributed time with mean 1/rate; it stays inside for E.

It is written to be quick for SimPy: a message under way is a timeout with a callback, not a process.
"""

import json
import random
import sys
import time
from collections import deque

import simpy


class Node:
    def __init__(self, system, me):
        self.system, self.env, self.me = system, system.env, me
        tokens = system.tokens
        # The algorithm. A token is (its number, its queue of (node, tag)).
        self.token = (me, []) if me < tokens else None
        self.holding = False
        self.wait = None
        self.pointer = list(range(tokens))
        self.node_queue = []
        self.seen = me % tokens
        # The processor.
        self.inbox, self.outbox = deque(), deque()
        self.work = None
        # What the client waits for.
        self.entered = None

    # The processor.

    def processor(self):
        env, system = self.env, self.system
        while True:
            if self.outbox:
                to, message = self.outbox.popleft()
                yield env.timeout(system.send)
                under_way = env.timeout(system.transit, (to, message))
                under_way.callbacks.append(system.arrive)
            elif self.inbox:
                message = self.inbox.popleft()
                yield env.timeout(system.receive)
                system.delivered += 1
                self.handle(message)
            else:
                self.work = env.event()
                yield self.work
                self.work = None

    def has_work(self):
        if self.work is not None and not self.work.triggered:
            self.work.succeed()

    def post(self, to, message):
        self.system.sent += 1
        self.outbox.append((to, message))
        self.has_work()

    # The client.

    def client(self):
        env, system = self.env, self.system
        while True:
            yield env.timeout(system.random.expovariate(system.rate))
            asked = env.now
            if not self.request():
                self.entered = env.event()
                yield self.entered
            system.count_entry(env.now - asked)
            yield env.timeout(system.section)
            self.exit()

    # The algorithm.

    def request(self):
        if self.token is not None:
            self.holding = True
            return True
        self.wait = self.seen
        self.post(self.pointer[self.wait], ("request", self.me, self.wait))
        return False

    def exit(self):
        self.holding = False
        number, queue = self.token
        if not queue:
            return
        head = queue[0][0]
        untagged = [node for node, tag in queue if tag is None]
        self.pointer[number] = untagged[-1] if untagged else head
        self.pass_on(head)

    def pass_on(self, to):
        token, self.token = self.token, None
        self.post(to, ("token", *token))

    def handle(self, message):
        if message[0] == "request":
            self.on_request(message[1], message[2])
        else:
            self.on_token(message[1], message[2])

    def on_request(self, origin, asked):
        if self.token is not None:
            number, queue = self.token
            queue.append((origin, None if number == asked else self.me))
            if not self.holding:
                self.pointer[number] = origin
                self.pass_on(origin)
        elif self.wait == asked:
            self.node_queue.append(origin)
        else:
            self.post(self.pointer[asked], ("request", origin, asked))
            self.pointer[asked] = origin

    def on_token(self, number, queue):
        asked, self.wait = self.wait, None
        me, tag = queue.pop(0)
        assert me == self.me
        if asked != number:
            self.pointer[asked] = tag
        queue.extend((node, tag) for node in self.node_queue)
        self.node_queue = []
        self.token = (number, queue)
        self.pointer[number] = self.me
        self.seen = number
        self.holding = True
        self.entered.succeed()


class System:
    def __init__(self, settings, seed):
        self.env = simpy.Environment()
        self.random = random.Random(seed)
        self.tokens = settings["tokens"]
        self.rate, self.section = settings["rate"], settings["cs"]
        self.send, self.receive, self.transit = settings["send"], settings["receive"], settings["transit"]
        self.warmup, self.last = settings["warmup"], settings["warmup"] + settings["entries"]
        self.entries, self.waited, self.sent, self.delivered, self.sent_before = 0, 0.0, 0, 0, 0
        self.done = self.env.event()
        self.nodes = [Node(self, me) for me in range(settings["nodes"])]
        for node in self.nodes:
            self.env.process(node.processor())
            self.env.process(node.client())

    def arrive(self, event):
        to, message = event.value
        self.nodes[to].inbox.append(message)
        self.nodes[to].has_work()

    def count_entry(self, wait):
        self.entries += 1
        if self.entries > self.warmup:
            self.waited += wait
        if self.entries == self.warmup:
            self.sent_before = self.sent
        if self.entries == self.last:
            self.done.succeed()


def run(settings, seed):
    system = System(settings, seed)
    began = time.perf_counter()
    system.env.run(until=system.done)
    seconds = time.perf_counter() - began
    return {
        "wait": system.waited / settings["entries"],
        "messages_per_entry": (system.sent - system.sent_before) / settings["entries"],
        "delivered": system.delivered,
        "seconds": seconds,
    }


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    print(json.dumps(run(settings, settings["seed"])))
