"""A `raddle worker` process: one line of JSON for each request and answer. See docs/design/worker.md."""

from __future__ import annotations

import json
import subprocess
from typing import Any

#: The version of the protocol that this package speaks.
PROTOCOL = 1


class WorkerError(Exception):
    """The worker has answered a request with an error, which would be the same on another machine."""


class WorkerLost(Exception):
    """The process has ended. Its unit can be repeated."""


class Worker:
    """A child process that executes units, one after the other."""

    def __init__(self, raddle: str, directory: str | None = None) -> None:
        """Start the program `raddle` in `directory`."""
        try:
            self._process = subprocess.Popen(
                [raddle, "worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=directory,
                text=True,
                # Ctrl-C is meant for the coordinator.
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerError(f"cannot start {raddle} in {directory}: {error.strerror}") from error
        self._number = 0
        ready = self._receive().get("ready")
        if not ready or ready.get("protocol") != PROTOCOL:
            raise WorkerError(f"{raddle} speaks another version of the protocol: install the same version everywhere")
        #: The version of Raddle.
        self.version: str = ready["raddle"]

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def describe(self, command: list[str]) -> dict[str, Any]:
        """Return what a coordinator has to know of the search of `command`."""
        answer: dict[str, Any] = self._ask({"describe": command})["description"]
        return answer

    def execute(self, unit: dict[str, Any]) -> dict[str, Any]:
        """Execute a unit and return its result, a file of `raddle merge`."""
        answer: dict[str, Any] = self._ask({"unit": unit})["result"]
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        line = json.dumps({"id": self._number, **request})
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except OSError as error:
            raise WorkerLost(self._end()) from error
        answer = self._receive()
        if "error" in answer:
            raise WorkerError(answer["error"]["message"])
        if answer["id"] != self._number:
            raise WorkerError(f"the worker has answered request {answer['id']} instead of {self._number}")
        return answer

    def _receive(self) -> dict[str, Any]:
        pipe = self._process.stdout
        assert pipe is not None
        line = pipe.readline()
        if not line.endswith("\n"):
            raise WorkerLost(self._end())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> str:
        return f"the worker has ended with status {self._process.wait()}"
