"""The loop that gives the parts of a search to workers and keeps their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from raddle_fleet.cluster import Done, Lost, Outcome, Refused
from raddle_fleet.journal import Journal
from raddle_fleet.plan import UNLIMITED, Shards, Speed, Window, Windows


class SearchError(Exception):
    """The search cannot go on."""


class Pool(Protocol):
    """Workers."""

    def free(self) -> int:
        """Return the number of units that can be given out now."""

    def running(self) -> list[Any]:
        """Return the keys of the units that are being executed."""

    def submit(self, key: Any, unit: dict[str, Any]) -> None:  # noqa: ANN401
        """Give a unit to a worker."""

    def wait(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the outcomes that are there, after waiting for the first one."""

    def drop(self, key: Any) -> None:  # noqa: ANN401
        """Abandon a unit."""


@dataclass(frozen=True)
class Progress:
    """The state of a search."""

    runs: int
    failures: int
    units: int
    lost: int


def name_of(key: Window | int) -> str:
    """Return the name of a unit in the journal."""
    # With leading zeros, names are sorted like numbers.
    return f"{key.first:020}-{key.last:020}" if isinstance(key, Window) else f"shard-{key:06}"


def targets_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of all targets of a result."""
    return [target["runs"] for target in result["targets"] if target["runs"] is not None]


def stopped_at(result: dict[str, Any]) -> int | None:
    """Return the number of the run after which no run of any target counts."""
    ends = [runs["stopped_at"] for runs in targets_of(result)]
    return None if not ends or None in ends else max(ends)


def reached(result: dict[str, Any], window: Window) -> int:
    """Return the number up to which all targets of a result have executed their runs."""
    return min((runs["window"][1] for runs in targets_of(result)), default=window.last)


class Search:
    """A search of one command on many workers."""

    #: A unit that was lost this often ends the search: it may be the unit that kills workers.
    MOST_LOST = 5
    #: The time to start a program, in seconds.
    START = 5.0

    def __init__(
        self, pool: Pool, journal: Journal, command: list[str], description: dict[str, Any], *, unit: float, shards: int
    ) -> None:
        """Continue with what `journal` has. `unit` is the wanted duration of a unit in seconds."""
        self.pool = pool
        self.journal = journal
        self.command = command
        self.is_limited = description["runs"] is not None
        self.runs: int = description["runs"] or UNLIMITED
        self.speed = Speed(unit)
        self.progress = Progress(0, 0, 0, 0)
        self._lost: dict[str, int] = {}
        known = journal.results()
        for result in known.values():
            self._count(result)
        #: The tests of `cargo raddle test`, each of which is a unit.
        self.targets: list[str] | None = description["targets"]
        if self.targets is not None:
            shards = len(self.targets)
        if description["learning"] or self.targets is not None:
            done = {int(name.removeprefix("shard-")) for name in known if name.startswith("shard-")}
            self.windows = None
            self.shards = Shards.resumed(shards, done)
        else:
            done_windows = [
                (Window(*targets_of(result)[0]["window"]), stopped_at(result))
                for name, result in known.items()
                if name != "races" and targets_of(result)
            ]
            self.windows = Windows.resumed(self.runs, description["stops"], done_windows)
            self.shards = Shards(0)

    def is_over(self) -> bool:
        """Return true if all runs that count are there."""
        return self.windows.is_over() if self.windows else self.shards.is_over()

    def step(self, seconds: float, may_start: Callable[[], bool]) -> None:
        """Give units to free workers, and wait for results."""
        while may_start() and self.pool.free() > 0 and self._start():
            pass
        for key, outcome in self.pool.wait(seconds):
            self._handle(key, outcome)
        if self.windows:
            for key in self.pool.running():
                if isinstance(key, Window) and not self.windows.is_needed(key):
                    self.pool.drop(key)
                    self.windows.give_back(key)

    def _start(self) -> bool:
        if self.windows:
            workers = self.pool.free() + len(self.pool.running())
            window = self.windows.take(self.speed.size(self.windows.ahead(), workers))
            if window is None:
                return False
            # A unit that is slower than others ends by time, and the rest of it is another unit.
            part = {"window": [window.first, window.last], "time-ms": int(1000 * (self.START + 4 * self.speed.seconds))}
            self.pool.submit(window, {"command": self.command, **part})
            return True
        shard = self.shards.take()
        if shard is None:
            return False
        if self.targets is None:
            unit: dict[str, Any] = {"shard": f"{shard}/{self.shards.count}"}
        else:
            unit = {"shard": "1/1", "targets": [self.targets[shard - 1]]}
        self.pool.submit(shard, {"command": self.command, "minimize": True, **unit})
        return True

    def _handle(self, key: Window | int, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            raise SearchError(outcome.why)
        if isinstance(outcome, Lost):
            self._repeat(key, outcome.why)
            return
        self._keep(key, outcome)

    def _repeat(self, key: Window | int, why: str) -> None:
        name = name_of(key)
        self._lost[name] = self._lost.get(name, 0) + 1
        if self._lost[name] >= self.MOST_LOST:
            raise SearchError(f"a unit was lost {self.MOST_LOST} times: {why}")
        self.progress = replace(self.progress, lost=self.progress.lost + 1)
        if self.windows and isinstance(key, Window):
            self.windows.give_back(key)
        elif isinstance(key, int):
            self.shards.give_back(key)

    def _keep(self, key: Window | int, outcome: Done) -> None:
        result = outcome.result
        if self.windows and isinstance(key, Window):
            end = reached(result, key)
            if end == key.first:
                self._repeat(key, "it has ended by time before its first run; --unit sets the time")
                return
            self.speed.note(end - key.first, outcome.seconds)
            self.journal.add(name_of(Window(key.first, end)), result)
            self.windows.finish(key, end, stopped_at(result))
        elif isinstance(key, int):
            self.journal.add(name_of(key), result)
            self.shards.finish(key)
        self._count(result)

    def _count(self, result: dict[str, Any]) -> None:
        counts = [runs["counts"] for runs in targets_of(result)]
        self.progress = replace(
            self.progress,
            runs=self.progress.runs + sum(count["runs"] + count["cut_off"] for count in counts),
            failures=self.progress.failures + sum(count["failures"] for count in counts),
            units=self.progress.units + 1,
        )

    def last_units(self) -> dict[str, dict[str, Any]]:
        """Return the units that complete the report, by name.

        They minimize the failing runs that the report shows, or look for data races.
        """
        units: dict[str, dict[str, Any]] = {}
        if self.windows is None:
            return units
        firsts: dict[str, tuple[int, str]] = {}
        for name, result in self.journal.results().items():
            for target in result["targets"]:
                first = (target["runs"] or {}).get("first")
                if first and (target["name"] not in firsts or first[0] < firsts[target["name"]][0]):
                    firsts[target["name"]] = (first[0], name)
        for number, name in firsts.values():
            if not self._is_final(name):
                units[name] = {"command": self.command, "window": [number, number + 1], "minimize": True}
        if not firsts and self.command[0] == "run" and not (self.journal.folder / "races.result.json").exists():
            units["races"] = {"command": self.command, "window": [0, 0], "races": True}
        return units

    def _is_final(self, name: str) -> bool:
        return bool(self.journal.results()[name].get("final"))

    def complete(self) -> None:
        """Execute the units that complete the report."""
        for name, unit in self.last_units().items():
            result: dict[str, Any] | None = None
            self.pool.submit(name, unit)
            while result is None:
                for _, outcome in self.pool.wait(1.0):
                    if isinstance(outcome, Refused):
                        raise SearchError(outcome.why)
                    if isinstance(outcome, Lost):
                        self.pool.submit(name, unit)
                    else:
                        result = outcome.result
            if name != "races":
                kept = self.journal.results()[name]
                for target, final in zip(kept["targets"], result["targets"], strict=True):
                    first, small = (target["runs"] or {}).get("first"), final["runs"]["first"]
                    if first and small and first[0] == small[0]:
                        target["runs"]["first"] = small
                result = {**kept, "final": True}
            self.journal.add(name, result)
