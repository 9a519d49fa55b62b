"""A real Ray cluster of two nodes on this machine, with tokens, and a program to search."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static void *pay(void *amount) {
    pthread_mutex_lock(&lock);
    int enough = balance >= *(int *)amount;
    pthread_mutex_unlock(&lock);
    if (enough) {
        pthread_mutex_lock(&lock);
        balance -= *(int *)amount;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    int amounts[2] = {60, 70};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, pay, &amounts[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(balance >= 0);
    return 0;
}
"""


@dataclass
class Two:
    """A cluster of two nodes with one core each, the second of which joins later."""

    cluster: Any
    second: Any = None

    def join(self) -> None:
        """Start the second node."""
        self.second = self.cluster.add_node(num_cpus=1)

    @property
    def address(self) -> str:
        """The address for drivers."""
        return str(self.cluster.address)


@pytest.fixture(scope="session")
def raddle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program raddle, under a name that no other process has."""
    program = os.environ.get("RADDLE") or str(ROOT / "target/debug/raddle")
    if not Path(program).exists():
        pytest.fail(f"there is no {program}: build it with `cargo build -p raddle-cli`, or set RADDLE")
    path = tmp_path_factory.mktemp("bin") / "raddle"
    path.symlink_to(program)
    return path


@pytest.fixture(scope="session")
def program(raddle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that fails in some runs."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "balance.c").write_text(PROGRAM)
    command = [str(raddle), "cc", "-g", "-O1", "-pthread", "balance.c", "-o", "balance"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "balance"


@pytest.fixture(scope="session")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Turn token authentication on, with a token of this test."""
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(path)
    return path


@pytest.fixture
def two(one: Two) -> Two:
    """Start the cluster with both nodes."""
    one.join()
    return one


@pytest.fixture
def one(token: Path) -> Iterator[Two]:
    """Start the cluster with its first node."""
    assert token.exists()
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield Two(cluster)
    finally:
        cluster.shutdown()
