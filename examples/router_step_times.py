"""A router between two unlike replicas, simulated with step times from perfmodel.

    ./run python examples/router_step_times.py

Each replica runs engine steps: it admits requests up to 64, gives a step up to 2048 prompt tokens,
and every running request decodes a token. `perfmodel.Step` prices each step, so that no step time is
written here. A simulator or router of your own needs the lines with `step.time`.
"""

import heapq
import random

import perfmodel

MODEL = {"model": "llama_3_1_8b", "engine": "vllm"}
REPLICAS = {
    "h100_sxm": perfmodel.Step(MODEL, accelerator="h100_sxm"),
    "l40s": perfmodel.Step(MODEL, accelerator="l40s"),
}
BUDGET, MOST_RUNNING = 2048, 64


class Replica:
    def __init__(self, name, step):
        self.name, self.step = name, step
        self.waiting, self.running = [], []
        self.steps = 0

    def load(self):
        return len(self.waiting) + len(self.running)

    def seconds_per_token(self):
        """Time of a decode step with one more request: what a router that knows its machines compares."""
        return self.step.time(self.load() + 1, 1200) if self.load() < MOST_RUNNING else float("inf")

    def run_step(self, now):
        """Runs one engine step from `now`; returns its end."""
        while self.waiting and len(self.running) < MOST_RUNNING:
            self.running.append(self.waiting.pop(0))
        decoding = [r for r in self.running if r["prefilled"] == r["input"]]
        prefill, filled = 0, []
        for r in self.running:
            chunk = min(r["input"] - r["prefilled"], BUDGET - prefill)
            if chunk > 0:
                r["prefilled"] += chunk
                prefill += chunk
                filled.append(r)
        context = round(sum(r["input"] + r["made"] for r in decoding) / len(decoding)) if decoding else 0
        end = now + self.step.time(len(decoding), context, prefill)
        self.steps += 1
        for r in decoding + [r for r in filled if r["prefilled"] == r["input"]]:
            r["made"] += 1
            if r["made"] == 1:
                r["first"] = end
            r["last"] = end
        self.running = [r for r in self.running if r["made"] < r["output"]]
        return end


def simulate(route, rate, count=400):
    """Mean TTFT and mean ITL in s, and the share of requests on the H100."""
    random.seed(1)
    replicas = [Replica(name, step) for name, step in REPLICAS.items()]
    requests, at = [], 0.0
    for _ in range(count):
        at += random.expovariate(rate)
        requests.append({"at": at, "input": 1024, "output": 256, "prefilled": 0, "made": 0})
    events = [(r["at"], i, None) for i, r in enumerate(requests)]
    heapq.heapify(events)
    busy, number, on_first = set(), count, 0
    while events:
        now, i, replica = heapq.heappop(events)
        if replica is None:  # an arrival
            replica = route(replicas, i)
            replica.waiting.append(requests[i])
            on_first += replica is replicas[0]
            if replica.name in busy:
                continue
        busy.discard(replica.name)
        if replica.load():
            busy.add(replica.name)
            number += 1
            heapq.heappush(events, (replica.run_step(now), number, replica))
    ttft = sum(r["first"] - r["at"] for r in requests) / count
    itl = sum((r["last"] - r["first"]) / (r["output"] - 1) for r in requests) / count
    return ttft, itl, on_first / count, sum(r.steps for r in replicas)


POLICIES = {
    "round robin": lambda replicas, i: replicas[i % 2],
    "least loaded": lambda replicas, i: min(replicas, key=Replica.load),
    "fastest next token": lambda replicas, i: min(replicas, key=Replica.seconds_per_token),
}

print("Llama 3.1 8B on one H100 and one L40S, 1024 tokens in, 256 out, 400 requests\n")
print(f"{'req/s':>5}  {'router':<20}{'TTFT ms':>9}{'ITL ms':>8}{'on H100':>9}{'steps':>8}")
for rate in (4, 12):
    for name, route in POLICIES.items():
        ttft, itl, share, steps = simulate(route, rate)
        print(f"{rate:>5}  {name:<20}{1e3 * ttft:>9.1f}{1e3 * itl:>8.2f}{100 * share:>8.0f}%{steps:>8}")
