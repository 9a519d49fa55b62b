"""Simulates a search on 10 to 10,000 workers, from the measured cost of a unit.

usage: python3 benchmarks/fleet/simulate.py MEASURED.json

A discrete-event simulation of what `raddle_fleet.search` does: one coordinator, which handles results one by one;
workers, each with one unit at a time. The duration of a unit varies (log-normal), and a worker waits for its next unit
while the coordinator is busy. Efficiency is the share of the workers' time in which they execute runs.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import sys
from pathlib import Path

WORKERS = (10, 100, 1_000, 10_000)
SECONDS = (0.5, 1, 2, 5, 10, 30, 60)
#: The standard deviation of the logarithm of a unit's duration.
SPREAD = 0.3
#: Units of each worker.
UNITS = 20


def efficiency(workers: int, seconds: float, overhead: float, coordinator: float, seed: int = 1) -> float:
    """Return the share of the workers' time in which they execute runs."""
    chance = random.Random(seed)
    useful = end = 0.0
    # The times at which results arrive. At first the coordinator gives a unit to every worker.
    arrivals = [0.0] * workers
    left = [UNITS] * workers
    queue = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(queue)
    free_at = 0.0
    while queue:
        arrived, worker = heapq.heappop(queue)
        free_at = max(free_at, arrived) + coordinator
        if left[worker] == 0:
            continue
        left[worker] -= 1
        runs = seconds * math.exp(chance.gauss(-(SPREAD**2) / 2, SPREAD))
        useful += runs
        arrivals[worker] = free_at + overhead + runs
        end = max(end, arrivals[worker])
        heapq.heappush(queue, (arrivals[worker], worker))
    # The last units end at different times, which a long search does not notice: each worker counts until its own end.
    return useful / sum(arrivals)


def main() -> None:
    """Print a table, and the shortest unit with an efficiency above 0.9."""
    measured = json.loads(Path(sys.argv[1]).read_text())
    overhead, coordinator = measured["unit_overhead_s"], measured["coordinator_cpu_s"]
    print(f"unit overhead {1000 * overhead:.1f} ms, coordinator {1000 * coordinator:.2f} ms a unit")
    print("| workers | " + " | ".join(f"{seconds:g} s" for seconds in SECONDS) + " | shortest unit above 0.9 |")
    print("|---" * (len(SECONDS) + 2) + "|")
    for workers in WORKERS:
        row = [efficiency(workers, seconds, overhead, coordinator) for seconds in SECONDS]
        enough = [seconds for seconds, value in zip(SECONDS, row, strict=True) if value > 0.9]
        shortest = f"{enough[0]:g} s" if enough else f"about {workers * coordinator * 1.1:.0f} s"
        print(f"| {workers:,} | " + " | ".join(f"{value:.2f}" for value in row) + f" | {shortest} |")


main()
