"""POST sent -> match at the live stream's client, without and with a run over history beside it, in turns.

The load of `latency`: 1,000 detections a second. A run beside it is a what-if over an hour at 1,000/s, over and over
again, done by `serve` with two processes, in a session of its own. A run shall delay live matches by at most 20 % at
p99 on two cores. Wall time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.history.archived import Size, write_archive
from benchmarks.history.what_if import asked, serving
from benchmarks.line.gateways import OpenLoop
from benchmarks.line.latency import DETECTIONS_PER_POST, Arrivals, arrivals_of, read_live
from benchmarks.line.whole_line import body_now, running

RATE_HZ = 1_000
TURNS = 6  # half of them with a run beside
POLL_S = 0.2


def tables(options: Options) -> Iterator[Table]:
    size, seconds = (Size(100, 600), 4.0) if options.quick else (Size(1_000, 3_600), 30.0)
    alone, beside, runs = measured(size, seconds)
    rows = []
    for percent in (50, 99):
        alone_s, beside_s = (quantiles(each, n=100)[percent - 1] for each in (alone, beside))
        rows.append([f"p{percent}", f"{beside_s / alone_s:.2f}", f"{alone_s:.3f}", f"{beside_s:.3f}"])
    yield Table(("percentile", "with a run / without", "without s", "with s"), rows, f"{runs} runs ended meanwhile")


def measured(size: Size, seconds: float) -> tuple[list[float], list[float], int]:
    """Return how long POSTs took to come out without and with a run beside, and how many runs ended."""
    taken: tuple[list[float], list[float]] = [], []
    runs = 0
    with TemporaryDirectory(prefix="coincide-bench-") as folder, running(max_delay_s=120) as system:
        archive = write_archive(Path(folder) / "archive", size)
        posts, arrivals = (
            OpenLoop(system.layout.ports.ingest, DETECTIONS_PER_POST, body_now),
            arrivals_of(read_live, system),
        )
        _offer(posts, arrivals, 10.0)
        with serving(archive, Path(folder)) as (client, _):
            for turn in range(TURNS):
                if turn % 2:
                    with asking(client, size) as ended:
                        taken[1].extend(_offer(posts, arrivals, seconds))
                    runs += len(ended)
                else:
                    taken[0].extend(_offer(posts, arrivals, seconds))
    return *taken, runs


def _offer(posts: OpenLoop, arrivals: Arrivals, seconds: float) -> list[float]:
    """Post for so long, and return how long each POST took to come out."""
    arrivals.begin()
    before = posts.posts
    posts.offer(RATE_HZ, seconds)
    arrivals.wait_for(posts.posts - before)
    return list(arrivals.seconds)


@contextmanager
def asking(client: httpx2.Client, size: Size) -> Iterator[list[Any]]:
    """Ask for one run after the other; yield those that have ended. The last one is cancelled."""
    stopping, ended = threading.Event(), list[Any]()

    def ask() -> None:
        while not stopping.is_set():
            run = client.post("/v1/history-runs", json=asked(size)).raise_for_status().json()["run"]
            while not stopping.wait(POLL_S):
                said = client.get(f"/v1/history-runs/{run}").json()
                if said["state"] not in ("queued", "running"):
                    ended.append(said)
                    break
            client.delete(f"/v1/history-runs/{run}")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield ended
    finally:
        stopping.set()
        thread.join()
    if any(said["state"] != "done" for said in ended):
        raise SystemExit(f"a run ended with {ended[-1]}")


BENCHMARKS = [
    Benchmark("beside_live", "what a run over history does to the delay of live matches", [tables], is_service=True)
]
