"""Which parts of a search are left. Pure: no clock, no files, no processes."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

#: The number of runs of a search without a limit.
UNLIMITED = 2**64 - 1
#: The number of runs of the first units, whose speed is unknown.
FIRST = 64
#: No unit is planned to be shorter, in seconds: every unit starts the program.
LEAST = 0.2


@dataclass(frozen=True, order=True)
class Window:
    """The runs from number `first`, before number `last`."""

    first: int
    last: int


@dataclass
class Windows:
    """The ranges of a search that are left, if its strategies do not learn.

    Invariant: `left`, the windows given out and the windows that are done do not overlap, and together they are all
    runs up to `next`.
    """

    runs: int
    #: True if the search ends at the first failing run.
    stops: bool
    #: All runs from here on are left.
    next: int = 0
    #: Ranges before `next` that are left, in order.
    left: list[Window] = field(default_factory=list)
    given: set[Window] = field(default_factory=set)
    #: The number of the first known failing run that ends the search.
    stopped_at: int | None = None
    done: int = 0

    @classmethod
    def resumed(cls, runs: int, stops: bool, done: list[tuple[Window, int | None]]) -> Windows:
        """Return what is left after the windows `done`, each with the failing run at which it stopped."""
        plan = cls(runs, stops)
        for window, stopped_at in sorted(done, key=lambda entry: entry[0]):
            if window.first > plan.next:
                plan.left.append(Window(plan.next, window.first))
            plan.next = max(plan.next, window.last)
            plan.done += window.last - window.first
            plan._stop(stopped_at)
        return plan

    def take(self, size: int) -> Window | None:
        """Return a range of at most `size` runs, those with the smallest numbers that are left."""
        end = self._end()
        if self.left and self.left[0].first < end:
            window = self.left.pop(0)
            taken = Window(window.first, min(window.last, window.first + size))
            if taken.last < window.last:
                insort(self.left, Window(taken.last, window.last))
        elif self.next < end:
            taken = Window(self.next, min(self.next + size, end))
            self.next = taken.last
        else:
            return None
        self.given.add(taken)
        return taken

    def ahead(self) -> int:
        """Return the number of runs that are to be given out."""
        return sum(window.last - window.first for window in self.left) + max(0, self._end() - self.next)

    def finish(self, window: Window, reached: int, stopped_at: int | None) -> None:
        """Note that `window` was executed up to run `reached`."""
        self.given.discard(window)
        self.done += reached - window.first
        self._stop(stopped_at)
        if reached < window.last:
            insort(self.left, Window(reached, window.last))

    def give_back(self, window: Window) -> None:
        """Note that `window` was lost."""
        self.given.discard(window)
        insort(self.left, window)

    def is_needed(self, window: Window) -> bool:
        """Return false if the search ends before `window`."""
        return window.first < self._end()

    def is_over(self) -> bool:
        """Return true if no run is left that counts."""
        end = self._end()
        left = [*self.left, *self.given]
        return self.next >= end and all(window.first >= end for window in left)

    def _end(self) -> int:
        return self.runs if self.stopped_at is None else min(self.runs, self.stopped_at + 1)

    def _stop(self, stopped_at: int | None) -> None:
        if self.stops and stopped_at is not None:
            self.stopped_at = stopped_at if self.stopped_at is None else min(self.stopped_at, stopped_at)


@dataclass
class Speed:
    """Estimates how many runs a unit should have, from how long others took."""

    #: The wanted duration of a unit in seconds.
    seconds: float
    rate: float | None = None

    def note(self, runs: int, seconds: float) -> None:
        """Note that `runs` runs took `seconds`."""
        if runs > 0 and seconds > 0:
            rate = runs / seconds
            self.rate = rate if self.rate is None else 0.7 * self.rate + 0.3 * rate

    def size(self, left: int, workers: int) -> int:
        """Return the number of runs of the next unit, if `left` runs are to be given out.

        The last units are shorter, so that no worker waits for a long one of another.
        """
        if self.rate is None:
            return FIRST
        whole, least = (max(1, int(self.rate * seconds)) for seconds in (self.seconds, LEAST))
        return min(whole, max(least, -(-left // (2 * workers))))


@dataclass
class Shards:
    """The shards of a search that are left, if some of its strategies learn."""

    count: int
    left: list[int] = field(default_factory=list)
    given: set[int] = field(default_factory=set)

    @classmethod
    def resumed(cls, count: int, done: set[int]) -> Shards:
        """Return what is left after the shards `done`, from 1."""
        return cls(count, [index for index in range(1, count + 1) if index not in done])

    def take(self) -> int | None:
        """Return a shard that is left."""
        if not self.left:
            return None
        shard = self.left.pop(0)
        self.given.add(shard)
        return shard

    def finish(self, shard: int) -> None:
        """Note that `shard` was executed."""
        self.given.discard(shard)

    def give_back(self, shard: int) -> None:
        """Note that `shard` was lost."""
        self.given.discard(shard)
        insort(self.left, shard)

    def is_over(self) -> bool:
        """Return true if none is left."""
        return not self.left and not self.given
