"""The program `raddle-fleet`, which `raddle fleet` starts."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from raddle_fleet.journal import Journal, JournalError
from raddle_fleet.worker import Worker, WorkerError, WorkerLost

#: The commands of Raddle that can be divided among workers.
COMMANDS = {"run": ["run"], "lab": ["lab", "run"], "beam": ["beam", "run"], "test": ["cargo", "test"]}

DESCRIPTION = """\
Executes the runs of a search on the machines of a Ray cluster, and prints the report that one process would print.

  raddle fleet run --strategy pos --runs 1e6 --address auto -- ./program
  raddle fleet test --address auto
  raddle fleet lab --strategy pos --runs 1e6 program.rdl
  raddle fleet run --resume --strategy pos --runs 1e6 --address auto -- ./program

Options that are not listed below are those of `raddle run`, `lab run`, `beam run` and `cargo raddle test`.
The program must have the same path on all machines. Ctrl-C ends the search with a report, and --resume continues it.
"""


def parser() -> argparse.ArgumentParser:
    """Return the options of this program."""
    options = argparse.ArgumentParser(
        prog="raddle fleet",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="raddle fleet {run,lab,beam,test} [OPTIONS] [--] PROGRAM...",
    )
    options.add_argument(
        "front_end", choices=sorted(COMMANDS), metavar="{run,lab,beam,test}", help="the kind of program"
    )
    options.add_argument(
        "--address", default="local", help="the cluster; auto for the one of this machine (default: local, a new one)"
    )
    folder = Path("raddle-fleet")
    options.add_argument("--state", type=Path, default=folder, help="folder of results (default: raddle-fleet)")
    options.add_argument("--resume", action="store_true", help="continue the search in --state")
    options.add_argument("--workers", type=int, help="the largest number of workers (default: one for each core)")
    options.add_argument("--unit", type=float, default=2.0, metavar="SECONDS", help="duration of a unit (default: 2)")
    options.add_argument("--shards", type=int, help="shards of a search that learns (default: the number of workers)")
    options.add_argument("--raddle", help="the program raddle, on all machines (default: that of PATH)")
    options.add_argument("--record", help="file for the first failing run")
    options.add_argument("--junit", help="write the results as JUnit XML")
    options.add_argument("--sarif", help="write the failures as SARIF 2.1.0")
    options.add_argument("--json", action="store_true", help="print JSON")
    return options


def fail(error: Exception | str, status: int = 2) -> NoReturn:
    """Print an error and exit."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(status)


class Display:
    """Prints the progress on standard error, on a terminal."""

    def __init__(self, total: int | None) -> None:
        """Begin, for `total` runs."""
        self._total = "" if total is None else f" of {total:,}"
        self._begun = (time.monotonic(), 0)
        self._is_shown = sys.stderr.isatty()

    def show(self, runs: int, failures: int, workers: int, lost: int) -> None:
        """Print the state."""
        if not self._is_shown:
            return
        if self._begun[1] == 0:
            self._begun = (self._begun[0], runs)
        rate = (runs - self._begun[1]) / max(time.monotonic() - self._begun[0], 1e-3)
        gone = f", {lost} units repeated" if lost else ""
        line = f"{runs:,}{self._total} runs, {failures:,} failing, {workers} workers, {rate:,.0f} runs/s{gone}"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the state."""
        if self._is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Run the program."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options, rest = parser().parse_known_args(words[:split])
    raddle = options.raddle or shutil.which("raddle")
    if raddle is None:
        fail("there is no program raddle in PATH\nhelp: install it, or name it with --raddle")
    command = [*COMMANDS[options.front_end], *rest, *words[split:]]
    try:
        # Ray prints warnings to the standard output, which is for the report.
        with contextlib.redirect_stdout(sys.stderr):
            status = search(options, str(raddle), command)
    except (JournalError, WorkerError, WorkerLost) as error:
        fail(error)
    sys.exit(status)


def search(options: argparse.Namespace, raddle: str, command: list[str]) -> int:
    """Search, and print the report. Return the exit status."""
    directory = str(Path.cwd())
    worker = Worker(raddle, directory)
    try:
        description = worker.describe(command)
    finally:
        worker.close()
    # Ray takes seconds to load, which an error in the arguments need not wait for.
    from raddle_fleet.cluster import Cluster, ClusterError
    from raddle_fleet.search import Search, SearchError

    journal = Journal(options.state)
    known = journal.search()
    try:
        cluster = Cluster(options.address, raddle, directory, options.workers)
    except ClusterError as error:
        fail(error)
    stopped = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            # The second signal ends the program at once. All that is done is in the folder.
            os._exit(130)
        stopped = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        shards = options.shards or (known or {}).get("shards") or cluster.size()
        about = {"command": command, "directory": directory, "version": worker.version, "shards": shards}
        if not description["learning"] or description["targets"] is not None:
            about["shards"] = None
        journal.begin(about, options.resume)
        whole = Search(cluster, journal, command, description, unit=options.unit, shards=shards)
        display = Display(description["runs"])
        limit = description["time-ms"]
        begun = time.monotonic()

        def may_start() -> bool:
            return not stopped and (limit is None or time.monotonic() - begun < limit / 1000)

        while not whole.is_over() and (may_start() or (not stopped and cluster.running())):
            whole.step(0.5, may_start)
            state = whole.progress
            display.show(state.runs, state.failures, cluster.size(), state.lost)
        if not stopped:
            whole.complete()
        display.end()
        is_over = whole.is_over()
    except (ClusterError, SearchError) as error:
        fail(f"{error}\nhelp: results so far are in {options.state}; --resume continues")
    finally:
        cluster.close()
    return report(options, raddle, journal, is_over, stopped)


def report(options: argparse.Namespace, raddle: str, journal: Journal, is_over: bool, stopped: bool) -> int:
    """Print the report of the results that are there."""
    files = [str(path) for path in journal.files()]
    if not files:
        fail("interrupted: no unit was finished", 130)
    words = [raddle, "merge", *files]
    if not is_over:
        words.append("--partial")
    for name in ("record", "junit", "sarif"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name}", value]
    if options.json:
        words.append("--json")
    status = subprocess.run(words, check=False).returncode
    if stopped:
        print(f"interrupted: not all runs were made; --resume continues with {options.state}", file=sys.stderr)
        return 130
    return status
