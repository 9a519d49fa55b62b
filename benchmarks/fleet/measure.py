"""Measures what a unit costs: the coordinator's processor time, and the time of a worker that is no run.

usage: target/fleet/bin/python benchmarks/fleet/measure.py RADDLE UNITS

Prints JSON, which `simulate.py` reads. Processor time hardly depends on what else the machine does.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from raddle_fleet.cluster import Cluster
from raddle_fleet.journal import Journal
from raddle_fleet.plan import Speed
from raddle_fleet.search import Search
from raddle_fleet.worker import Worker

PROGRAM = Path(__file__).parents[2] / "crates/raddle-lab/figures/lost_update.rdl"


class Small(Speed):
    """Units of one run, so that nearly all time is the cost of a unit."""

    def size(self) -> int:
        """Return the number of runs of a unit."""
        return 1


def worker_cost(raddle: str, command: list[str], count: int) -> dict[str, float]:
    """Return the time of units without runs and of single runs, in seconds."""
    worker = Worker(raddle)
    begun = time.perf_counter()
    for _ in range(count):
        worker.execute({"command": command, "window": [0, 1]})
    one = (time.perf_counter() - begun) / count
    begun = time.perf_counter()
    worker.execute({"command": command, "window": [0, 100_000]})
    many = time.perf_counter() - begun
    worker.close()
    return {"unit_overhead_s": one, "runs_per_s": 100_000 / many}


def coordinator_cost(raddle: str, command: list[str], count: int) -> dict[str, float]:
    """Return the processor time of the coordinator for a unit, in seconds, and the bytes of a result."""
    cluster = Cluster("local", raddle, str(Path.cwd()), 2)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        description = {"runs": count, "learning": [], "stops": False, "targets": None}
        search = Search(cluster, journal, command, description, unit=1.0, shards=1)
        search.speed = Small(1.0)
        # The first units start actors and workers.
        while search.progress.units < 20:
            search.step(1.0, lambda: True)
        units, begun = search.progress.units, time.process_time()
        elapsed = time.perf_counter()
        while not search.is_over():
            search.step(1.0, lambda: True)
        used, elapsed = time.process_time() - begun, time.perf_counter() - elapsed
        size = sum(path.stat().st_size for path in journal.files()) / len(journal.files())
        units = search.progress.units - units
    cluster.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "coordinator_cpu_s": used / units,
        "coordinator_wall_s": elapsed / units,
        "result_bytes": size,
        "coordinator_memory_bytes": memory,
        "units": units,
    }


def main() -> None:
    """Measure and print."""
    raddle, count = sys.argv[1], int(sys.argv[2])
    command = ["lab", "run", "--strategy", "pos", "--runs", str(count), str(PROGRAM)]
    whole = ["lab", "run", "--strategy", "pos", "--runs", "100000", str(PROGRAM)]
    print(json.dumps(worker_cost(raddle, whole, 50) | coordinator_cost(raddle, command, count), indent=2))


main()
