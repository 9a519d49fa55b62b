"""Compares 2 workers of a fleet with 2 processes, `--shard 1/2` and `--shard 2/2`, alternately in one run.

usage: target/fleet/bin/python benchmarks/fleet/efficiency.py RADDLE RUNS [ROUNDS]

The cluster runs already, and its workers have started: a search of hours does not notice that. Both make the same runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from raddle_fleet.cluster import Cluster
from raddle_fleet.journal import Journal
from raddle_fleet.search import Search

PROGRAM = Path(__file__).parents[2] / "crates/raddle-lab/figures/pos_fig2.rdl"


def processes(raddle: str, command: list[str], folder: str) -> float:
    """Return the elapsed time of two processes."""
    begun = time.perf_counter()
    shards = [
        subprocess.Popen(
            [raddle, *command, "--jobs", "1", "--shard", f"{index}/2", "--result", f"{folder}/{index}.json"],
            stdout=subprocess.DEVNULL,
        )
        for index in (1, 2)
    ]
    for shard in shards:
        shard.wait()
    return time.perf_counter() - begun


def fleet(cluster: Cluster, command: list[str], runs: int, folder: str) -> float:
    """Return the elapsed time of two workers."""
    description = {"runs": runs, "learning": [], "stops": False, "targets": None}
    search = Search(cluster, Journal(Path(folder)), command, description, unit=2.0, shards=1)
    begun = time.perf_counter()
    while not search.is_over():
        search.step(1.0, lambda: True)
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print."""
    raddle, runs = sys.argv[1], int(float(sys.argv[2]))
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    command = ["lab", "run", "--strategy", "pos", "--runs", str(runs), str(PROGRAM)]
    cluster = Cluster("local", raddle, str(Path.cwd()), 2)
    with tempfile.TemporaryDirectory() as warm:
        fleet(cluster, ["lab", "run", "--strategy", "pos", "--runs", "200", str(PROGRAM)], 200, warm)
    ratios = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            alone = processes(raddle, command, folder)
        with tempfile.TemporaryDirectory() as folder:
            together = fleet(cluster, command, runs, folder)
        ratios.append(alone / together)
        print(f"2 processes {alone:.2f} s, 2 workers {together:.2f} s, efficiency {alone / together:.2f}")
    cluster.close()
    print(f"median efficiency {statistics.median(ratios):.2f}")


main()
