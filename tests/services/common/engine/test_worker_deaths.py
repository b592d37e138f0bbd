"""What a worker was at outlives its kill; a query at which two died in one batch is named."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from services.common.engine.worker_deaths import WorkerDeaths


def take_a_batch(file: Path, batch: int, *queries: str) -> None:
    """Answer the queries; one that is fatal is left out, at "killed" the worker is killed."""
    deaths = WorkerDeaths(file)
    fatal = deaths.begin(batch)
    for query in queries:
        if query not in fatal:
            deaths.at_work(query)
            if query.startswith("killed"):
                os.kill(os.getpid(), signal.SIGKILL)
            deaths.at_work("")


def exit_of(*arguments: object) -> int | None:
    worker = multiprocessing.get_context("spawn").Process(target=take_a_batch, args=arguments)
    worker.start()
    worker.join()
    return worker.exitcode


@pytest.mark.slow
def test_a_query_that_kills_two_workers_of_a_batch_kills_no_third(tmp_path: Path) -> None:
    queries = "fine", "killed é", "other"
    exits = [exit_of(tmp_path / "deaths", 7, *queries) for _ in range(3)]
    assert exits == [-signal.SIGKILL, -signal.SIGKILL, 0]


def test_each_batch_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "deaths"
    for batch in (7, 7, 8, 8):
        deaths = WorkerDeaths(file)
        assert deaths.begin(batch) == frozenset()
        deaths.at_work("near")
    assert WorkerDeaths(file).begin(8) == {"near"}
    assert WorkerDeaths(file).begin(9) == frozenset()


def test_a_batch_that_is_over_has_killed_nobody(tmp_path: Path) -> None:
    for _ in range(4):
        deaths = WorkerDeaths(tmp_path / "deaths")
        assert deaths.begin(7) == frozenset()
        deaths.at_work("near")
        deaths.at_work("")


@pytest.mark.parametrize("content", [b"", b"\xff" * 9_000, b"[" * 4_096])
def test_what_somebody_else_wrote_is_no_death(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "deaths").write_bytes(content)
    assert WorkerDeaths(tmp_path / "deaths").begin(7) == frozenset()
