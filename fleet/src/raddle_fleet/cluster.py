"""Workers on a Ray cluster: an actor for each core, which owns a `raddle worker`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

# Before Ray is loaded: anyone who reaches the ports of a cluster without tokens can run programs on it.
os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray.exceptions import AuthenticationError, RayActorError, RayError

from raddle_fleet.worker import Worker, WorkerError, WorkerLost


class ClusterError(Exception):
    """The cluster cannot be used."""


@dataclass(frozen=True)
class Done:
    """A unit that a worker has executed."""

    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A unit whose worker is gone. It can be repeated."""

    why: str


@dataclass(frozen=True)
class Refused:
    """A unit that fails on every machine."""

    why: str


Outcome = Done | Lost | Refused


class Runner:
    """The actor. Its worker starts with the first unit, and again if it was killed."""

    def __init__(self, raddle: str, directory: str) -> None:
        """Remember what to start."""
        self._start = (raddle, directory)
        self._worker: Worker | None = None

    def execute(self, unit: dict[str, Any]) -> Outcome:
        """Execute a unit."""
        begun = time.monotonic()
        try:
            if self._worker is None:
                self._worker = Worker(*self._start)
            result = self._worker.execute(unit)
        except WorkerLost as lost:
            self._worker = None
            return Lost(str(lost))
        except WorkerError as error:
            return Refused(f"{error} (on {ray.util.get_node_ip_address()})")
        return Done(result, time.monotonic() - begun)


class Cluster:
    """The workers of one search."""

    def __init__(self, address: str, raddle: str, directory: str, most: int | None) -> None:
        """Connect to the cluster at `address`, or start one on this machine for `local`."""
        self._arguments = (raddle, directory)
        self._most = most
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == "local":
            options |= {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        try:
            ray.init(address=address, **options)
        except AuthenticationError as error:
            raise ClusterError(
                "the cluster does not accept the token of this user\n"
                "help: copy the file ~/.ray/auth_token of the head node, or set RAY_AUTH_TOKEN_PATH"
            ) from error
        except (ConnectionError, RuntimeError, ValueError, RayError) as error:
            text = str(error).strip().split("\n")[0]
            raise ClusterError(
                f"cannot connect to the cluster at {address}: {text}\n"
                "help: start it with `RAY_AUTH_MODE=token ray start --head`, or use --address local"
            ) from error
        self._runner = ray.remote(num_cpus=1, max_restarts=0)(Runner)
        #: The actors without a unit.
        self._idle: list[Any] = []
        #: The units that are being executed.
        self._running: dict[Any, tuple[Any, Any]] = {}

    def size(self) -> int:
        """Return the number of workers that the cluster has room for now."""
        cores = int(ray.cluster_resources().get("CPU", 0))
        return max(1, cores if self._most is None else min(cores, self._most))

    def free(self) -> int:
        """Return the number of units that can be given out now."""
        return max(0, self.size() - len(self._running))

    def running(self) -> list[Any]:
        """Return the keys of the units that are being executed."""
        return [key for _, key in self._running.values()]

    def submit(self, key: Any, unit: dict[str, Any]) -> None:  # noqa: ANN401
        """Give a unit to a worker. `key` comes back with its outcome."""
        actor = self._idle.pop() if self._idle else self._runner.remote(*self._arguments)
        self._running[actor.execute.remote(unit)] = (actor, key)

    def wait(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the outcomes that are there, after waiting for the first one."""
        own = ray.get_runtime_context().get_node_id()
        if not any(node["Alive"] for node in ray.nodes() if node["NodeID"] == own):
            raise ClusterError("the Ray node of this process is gone\nhelp: --resume continues on another node")
        # After the loss of a node, a new worker may wait for the core of one without a unit.
        while self._idle and len(self._idle) + len(self._running) > self.size():
            ray.kill(self._idle.pop())
        if not self._running:
            return []
        references = list(self._running)
        ready, _ = ray.wait(references, num_returns=1, timeout=seconds)
        if ready:
            # All that are there, so that the cost of a unit does not grow with the number of workers.
            ready, _ = ray.wait(references, num_returns=len(references), timeout=0)
        outcomes = []
        for reference in ready:
            actor, key = self._running.pop(reference)
            try:
                outcome: Outcome = ray.get(reference)
                self._idle.append(actor)
            except RayActorError as error:
                # The actor, its node or the connection is gone.
                outcome = Lost(str(error).strip().split("\n")[0])
            outcomes.append((key, outcome))
        return outcomes

    def drop(self, key: Any) -> None:  # noqa: ANN401
        """Abandon a unit that is not needed any more."""
        for reference, (actor, own) in list(self._running.items()):
            if own == key:
                del self._running[reference]
                ray.kill(actor)

    def close(self) -> None:
        """End all workers and disconnect."""
        for actor in [*self._idle, *(actor for actor, _ in self._running.values())]:
            ray.kill(actor)
        self._idle.clear()
        self._running.clear()
        ray.shutdown()
