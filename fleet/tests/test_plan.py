"""The plan covers every run once, whatever happens to units."""

from __future__ import annotations

import random

import pytest

from raddle_fleet.plan import FIRST, Shards, Speed, Window, Windows


@pytest.mark.parametrize("seed", range(200))
def test_every_run_is_executed_once(seed: int) -> None:
    """Units are lost, end early, and finish in any order; the coordinator is started again."""
    chance = random.Random(seed)
    plan = Windows(1_000, stops=False)
    done: list[tuple[Window, int | None]] = []
    while not plan.is_over():
        while len(plan.given) < 4 and (plan.take(chance.randint(1, 90))) is not None:
            pass
        window = chance.choice(sorted(plan.given))
        match chance.choice(["done", "done", "early", "lost", "again"]):
            case "lost":
                plan.give_back(window)
            case "again":
                plan = Windows.resumed(1_000, False, done)
            case kind:
                reached = window.last if kind == "done" else chance.randint(window.first, window.last)
                plan.finish(window, reached, None)
                if reached > window.first:
                    done.append((Window(window.first, reached), None))
    executed = sorted(number for window, _ in done for number in range(window.first, window.last))
    assert executed == list(range(1_000))
    assert plan.done == 1_000


@pytest.mark.parametrize("seed", range(200))
def test_runs_up_to_the_first_failing_one_are_executed(seed: int) -> None:
    """The search stops at the smallest failing run, whichever is found first."""
    chance = random.Random(seed)
    failing = sorted(chance.sample(range(1_000), 3))
    plan = Windows(1_000, stops=True)
    executed: set[int] = set()
    while not plan.is_over():
        while len(plan.given) < 5 and plan.take(chance.randint(1, 60)) is not None:
            pass
        window = chance.choice(sorted(plan.given))
        stopped = next((number for number in failing if window.first <= number < window.last), None)
        executed |= set(range(window.first, window.last if stopped is None else stopped + 1))
        plan.finish(window, window.last, stopped)
    assert plan.stopped_at == failing[0]
    assert executed >= set(range(failing[0] + 1))
    assert plan.take(10) is None


def test_the_last_units_are_short() -> None:
    """Workers end at about the same time, and no unit is shorter than it has to be."""
    speed = Speed(2.0)
    assert speed.size(10**9, 2) == FIRST
    speed.note(100_000, 1.0)
    assert speed.size(10**9, 2) == 200_000
    plan = Windows(1_000_000, stops=False)
    # Each unit takes as long as it has runs.
    ends, sizes = [0, 0], []
    while (window := plan.take(speed.size(plan.ahead(), 2))) is not None:
        sizes.append(window.last - window.first)
        ends[ends.index(min(ends))] += sizes[-1]
        plan.finish(window, window.last, None)
    assert sum(sizes) == 1_000_000
    assert abs(ends[0] - ends[1]) <= 20_000
    assert all(size >= 20_000 for size in sizes[:-1])


def test_shards_are_executed_once() -> None:
    """A lost shard comes again, a finished one does not."""
    shards = Shards.resumed(4, {2})
    assert (shards.take(), shards.take()) == (1, 3)
    shards.give_back(1)
    shards.finish(3)
    assert [shards.take(), shards.take(), shards.take()] == [1, 4, None]
    assert not shards.is_over()
    shards.finish(1)
    shards.finish(4)
    assert shards.is_over()


def test_units_have_the_wanted_duration() -> None:
    """The size follows the measured speed."""
    speed = Speed(2.0)
    assert speed.size(10**9, 2) == 64
    speed.note(100, 0.1)
    assert speed.size(10**9, 2) == 2_000
    speed.note(1, 1_000.0)
    assert 1 <= speed.size(10**9, 2) < 2_000
