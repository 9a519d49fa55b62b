"""Searches on a real cluster of two nodes, compared with one process, also when something is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from conftest import Two

#: Long enough to be interrupted in the middle.
LONG = ["--strategy", "pos", "--runs", "100000", "--keep-going"]
#: A net for a hanging test.
PATIENCE = 120


MANIFEST = """
[package]
name = "suite"
version = "0.1.0"
edition = "2024"
[workspace]
"""

TESTS = """
#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    fn count() -> u32 {
        let counter = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || counter.store(counter.load(SeqCst) + 1, SeqCst))
        });
        threads.map(|thread| thread.join().unwrap());
        counter.load(SeqCst)
    }

    #[test]
    fn any() { assert!(count() > 0); }
    #[test]
    #[ignore]
    fn ignored() {}
    #[test]
    fn lost() { assert_eq!(count(), 2); }
    #[test]
    fn single() {}
}
"""


#: How many runs needed a fork depends on the processes that executed them, and on the machine.
FORKS = ("forked", "without_fork", "reset_unsupported")


def without_forks(text: str) -> str:
    """Return a report without the number of runs that needed no fork."""
    text = re.sub(r" \(([0-9,]+ without a fork|all forked, [^)]*)\)", "", text)
    return re.sub(rf'"({"|".join(FORKS)})": ?[a-z0-9]+,?', "", text)


def results(text: str) -> list[dict[str, object]]:
    """Return the results of tests without what depends on time and folders."""
    tests = [json.loads(line) for line in text.splitlines()]
    return [
        {key: value for key, value in test.items() if key not in ("seconds", "failure_file", "replay", *FORKS)}
        for test in tests
    ]


def fleet(raddle: Path, folder: Path, address: str, options: list[str], what: str = "run") -> subprocess.Popen[str]:
    """Start `raddle-fleet` for a program."""
    start = [sys.executable, "-m", "raddle_fleet", what]
    words = [
        *start,
        "--raddle",
        str(raddle),
        "--address",
        address,
        "--unit",
        "0.2",
        "--record",
        "f.json",
    ]
    return subprocess.Popen(
        words + options, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finished(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Return the output and the exit status."""
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err, err
    return without_forks(out) + ("" if process.returncode in (0, 1) else err), process.returncode


def alone(raddle: Path, folder: Path, options: list[str]) -> tuple[str, int]:
    """Return the output and the exit status of one process."""
    words = [str(raddle), "run", "--record", "f.json", *options]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return without_forks(done.stdout), done.returncode


def until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until `condition` holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, f"it has ended before: {process.communicate()}"
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.01)


def units(folder: Path) -> int:
    """Return the number of finished units."""
    return len(list((folder / "raddle-fleet").glob("*.result.json")))


def has_units(folder: Path, count: int) -> bool:
    """Return true if `count` units are finished."""
    return units(folder) >= count


def workers(raddle: Path) -> list[int]:
    """Return the worker processes of this test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [str(raddle).encode(), b"worker"]:
            found.append(int(process.name))
    return found


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_report_is_that_of_one_process(two: Two, raddle: Path, program: Path, tmp_path: Path, count: int) -> None:
    """The number of workers changes nothing: neither for all runs, nor up to the first failure."""
    options = ["--strategy", "pos+random-walk", "--runs", "1500", "--seed", str(count)]
    for stop in ("--keep-going", "--until-bug"):
        state = ["--state", f"state{stop}", "--workers", str(count)]
        search = [*options, stop, "--", str(program)]
        expected = alone(raddle, tmp_path, search)
        assert finished(fleet(raddle, tmp_path, two.address, [*state, *search])) == expected
    assert workers(raddle) == []


def test_strategies_that_learn_give_the_same_report_again(
    two: Two, raddle: Path, program: Path, tmp_path: Path
) -> None:
    """A search that learns is divided into shards."""
    options = ["--runs", "600", "--keep-going", "--", str(program)]
    reports = [
        finished(fleet(raddle, tmp_path, two.address, ["--state", state, "--shards", "3", "--json", *options]))
        for state in ("one", "two")
    ]
    assert reports[0] == reports[1]
    assert json.loads(reports[0][0])["runs"] == 600


def test_the_tests_of_a_crate_have_the_results_of_one_process(two: Two, raddle: Path, tmp_path: Path) -> None:
    """Each test is a unit."""
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    (tmp_path / "src/lib.rs").write_text(TESTS)
    options = ["--offline", "--json", "--runs", "60", "--strategy", "pos"]
    text, status = finished(fleet(raddle, tmp_path, two.address, ["--record", ".", *options], "test"))
    words = [str(raddle), "cargo", "test", *options]
    alone = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (results(text), status) == (results(alone.stdout), alone.returncode)
    assert [test.get("status") for test in results(text)] == ["passed", "ignored", "failed", "not-concurrent", None]


def test_a_killed_worker_loses_nothing(two: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """Its unit is executed again."""
    process = fleet(raddle, tmp_path, two.address, [*LONG, "--", str(program)])
    for count in (2, 5):
        until(partial(has_units, tmp_path, count), process)
        until(lambda: workers(raddle), process)
        for pid in workers(raddle):
            os.kill(pid, signal.SIGKILL)
    assert finished(process) == alone(raddle, tmp_path, [*LONG, "--", str(program)])


def test_a_killed_node_loses_nothing(one: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """A node that joins gets units, and the other one executes the rest when it is gone."""
    process = fleet(raddle, tmp_path, one.address, [*LONG, "--", str(program)])
    # The coordinator belongs to the first node.
    until(lambda: units(tmp_path) >= 1, process)
    one.join()
    until(lambda: len(workers(raddle)) == 2, process)
    one.cluster.remove_node(one.second, allow_graceful=False)
    assert finished(process) == alone(raddle, tmp_path, [*LONG, "--", str(program)])


def test_a_killed_coordinator_is_resumed(two: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """Finished units are not executed again."""
    search = [*LONG, "--", str(program)]
    process = fleet(raddle, tmp_path, two.address, search)
    until(lambda: units(tmp_path) >= 4, process)
    process.kill()
    process.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "raddle-fleet").glob("*.result.json")}
    text, status = finished(fleet(raddle, tmp_path, two.address, search))
    assert status == 2 and "--resume" in text
    text, status = finished(fleet(raddle, tmp_path, two.address, ["--resume", *LONG[:-1], "--", str(program)]))
    assert status == 2 and "results of another command" in text
    assert finished(fleet(raddle, tmp_path, two.address, ["--resume", *search])) == alone(raddle, tmp_path, search)
    # Only the one with the failing run of the report was written again.
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "raddle-fleet").glob("*.result.json")}
    assert sum(now[name] != time for name, time in kept.items()) <= 1


def test_an_interrupt_keeps_what_is_done(two: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """Ctrl-C prints the report of the runs so far."""
    search = [*LONG, "--", str(program)]
    process = fleet(raddle, tmp_path, two.address, search)
    until(lambda: units(tmp_path) >= 3, process)
    process.send_signal(signal.SIGINT)
    text, status = finished(process)
    assert status == 130 and "interrupted: not all runs were made" in text and "runs under pos, seed 1" in text
    assert finished(fleet(raddle, tmp_path, two.address, ["--resume", *search])) == alone(raddle, tmp_path, search)


def test_errors_name_the_cause(two: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """A search that cannot be made ends with an error at once."""
    for options, part in [
        (["--", "/no/such/program"], "/no/such/program"),
        (["--no-such-option", "--", str(program)], "unexpected argument '--no-such-option'"),
        (["--strategy", "nothing", "--", str(program)], "nothing"),
    ]:
        text, status = finished(fleet(raddle, tmp_path, two.address, ["--strategy", "pos", *options]))
        assert status == 2 and text.startswith("error: ") and part in text, text


def test_a_driver_without_the_token_is_refused(two: Two, raddle: Path, program: Path, tmp_path: Path) -> None:
    """Access to the ports is not sufficient to run programs."""
    other = tmp_path / "token"
    other.write_text("0" * 64)
    other.chmod(0o600)
    script = f"import ray; ray.init(address={two.address!r}, log_to_driver=False)"
    for environment in ({"RAY_AUTH_TOKEN_PATH": str(other)}, {"RAY_AUTH_MODE": "disabled"}):
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, timeout=PATIENCE
        )
        assert done.returncode != 0, environment
