"""The contest: wall and CPU time from files to files, and what a hot area, size and a second worker do to ours."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import psutil
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.dataframes.archive import AREAS, Size, write_archive
from benchmarks.harness.declaration import Benchmark, Options, Table

CORES = 2
SIZES = [Size(3_000_000), Size(3_000_000, 0.5)]
GROWTH = [Size(1_000_000), Size(10_000_000), Size(100_000_000)]
LARGE = 50_000_000  # measured once
ON_WORKERS = Size(10_000_000)  # so that to begin and to end is little of it
QUICK = [Size(100_000), Size(100_000, 0.5)]


class Took(NamedTuple):
    """Seconds of one round, and what the pairs amount to."""

    wall_s: float
    cpu_s: float
    pairs: int
    ids: int


def beside_peers(options: Options) -> Iterator[Table]:
    """Yield everybody's seconds, a table for each size."""
    from benchmarks.dataframes.makers import makers
    from tests.reference.spark_session import local_session

    with local_session(f"local[{CORES}]", "3g") as spark, TemporaryDirectory(prefix="coincide-bench-") as folder:
        for size in QUICK if options.quick else SIZES:
            files = write_archive(Path(folder) / f"{size.detections}-{size.in_one_area:.2f}", size)
            yield _table(size, makers(spark, CORES), files, Path(folder), options.rounds_of(3))


def growing(options: Options) -> Iterator[Table]:
    """Yield what a detection costs us as there are more of them."""
    from benchmarks.dataframes.makers import makers
    from tests.reference.spark_session import local_session

    with local_session(f"local[{CORES}]", "3g") as spark, TemporaryDirectory(prefix="coincide-bench-") as folder:
        ours = {name: maker for name, maker in makers(spark, CORES).items() if name == "coincide, files"}
        rows: list[list[Any]] = []
        for size in QUICK[:1] if options.quick else GROWTH:
            files = write_archive(Path(folder) / str(size.detections), size)
            if not rows:
                _round(ours, files, Path(folder))  # nobody pays for the first one
            rounds = options.rounds_of(3) if size.detections < LARGE else 1
            took = [_round(ours, files, Path(folder))["coincide, files"] for _ in range(rounds)]
            wall_s, cpu_s = _median(took)
            of_each = 1e6 / (2 * size.detections)
            rows.append([2 * size.detections, took[0].pairs, f"{wall_s * of_each:.3f}", f"{cpu_s * of_each:.3f}"])
            shutil.rmtree(Path(folder) / str(size.detections))
        yield Table(["detections", "pairs", "wall µs a detection", "CPU µs a detection"], rows)


def on_workers(options: Options) -> Iterator[Table]:
    """Yield how long we take with one worker and with two, each of one core, of a master of their own.

    The driver and the master have the cores of the workers and no other, so that one worker has no help from a second
    core. The peer is the same tasks without Spark, in one process and in two with a core each: what two cores can do.
    """
    size = QUICK[0] if options.quick else ON_WORKERS
    with TemporaryDirectory(prefix="coincide-bench-") as folder:
        files = write_archive(Path(folder) / "archive", size)
        one, two = (_with_workers(workers, files, Path(folder), options.rounds_of(3)) for workers in (1, 2))
        rows = [[name, f"{one[name]:.2f}", f"{two[name]:.2f}", f"{one[name] / two[name]:.2f}"] for name in one]
        title = f"2 x {size.detections:,} detections, workers with a core of their own"
        yield Table(["", "one worker, wall s", "two workers, wall s", "one / two"], rows, title)


def _with_workers(workers: int, files: list[Path], folder: Path, rounds: int) -> dict[str, float]:
    from benchmarks.dataframes.makers import makers
    from tests.reference.spark_cluster import running_cluster
    from tests.reference.spark_session import ROOT, local_session

    conf = {"executor.memory": "2g", "executorEnv.PYTHONPATH": str(ROOT)}
    of_cluster = folder / f"workers-{workers}"
    of_cluster.mkdir()
    with (
        _only_cores(workers),
        running_cluster(of_cluster, workers, "2500M", own_cores=True) as cluster,
        local_session(cluster.url, "1g", **conf) as spark,
        _own_cores(workers) as pool,
    ):
        ours = {name: maker for name, maker in makers(spark, CORES).items() if name.startswith("coincide")}
        ours["the files' tasks without Spark"] = partial(_in_processes, pool)
        for _ in range(2):  # nobody pays for the first ones
            _round(ours, files, folder)
        taken = [_round(ours, files, folder) for _ in range(rounds)]
    return {name: _median([each[name] for each in taken])[0] for name in ours}


@contextmanager
def _only_cores(count: int) -> Iterator[None]:
    """Have this process, and those that it starts, run on so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(range(count)))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _own_cores(count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield processes with one core each."""
    context = get_context("spawn")
    cores = context.Queue()
    for core in range(count):
        cores.put(core)
    with ProcessPoolExecutor(count, context, _take_core, (cores,)) as pool:
        yield pool


def _take_core(cores: Any) -> None:
    os.sched_setaffinity(0, {cores.get()})


def _in_processes(pool: Executor, files: Sequence[Path], out: Path) -> None:
    """Do the tasks that Spark does, in processes that wait for them."""
    from benchmarks.dataframes.makers import files_join

    out.mkdir()
    join = files_join(files)
    list(pool.map(partial(join.write, folder=out), range(len(join.ranges))))


def _table(size: Size, makers: Mapping[str, Any], files: list[Path], folder: Path, rounds: int) -> Table:
    _round(makers, files, folder)  # nobody pays for the first one
    taken = [_round(makers, files, folder) for _ in range(rounds)]
    medians = {name: _median([each[name] for each in taken]) for name in makers}
    ours = medians["coincide, files"]
    rows = [
        [name, f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{wall_s / ours[0]:.1f}", f"{cpu_s / ours[1]:.1f}"]
        for name, (wall_s, cpu_s) in medians.items()
    ]
    where = f"{size.in_one_area:.0%} of them in one area" if size.in_one_area > 1 / AREAS else f"{AREAS} areas"
    pairs = taken[0]["coincide, files"].pairs
    title = f"2 x {size.detections:,} detections, {where}, {pairs:,} pairs written"
    return Table(["", "wall s", "CPU s", "wall / ours", "CPU / ours"], rows, title)


def _median(taken: list[Took]) -> tuple[float, float]:
    return statistics.median(each.wall_s for each in taken), statistics.median(each.cpu_s for each in taken)


def _round(makers: Mapping[str, Any], files: list[Path], folder: Path) -> dict[str, Took]:
    taken: dict[str, Took] = {}
    for name, maker in makers.items():
        out = folder / "out"
        begun, cpu_s = time.perf_counter(), _cpu_s()
        maker(files, out)
        wall_s, cpu_s = time.perf_counter() - begun, _cpu_s() - cpu_s
        taken[name] = Took(wall_s, cpu_s, *_sums(out))
        shutil.rmtree(out)
        first = next(iter(taken.values()))
        if taken[name][2:] != first[2:]:
            raise SystemExit(f"the answers differ: {name} says {taken[name]}, {next(iter(taken))} says {first}")
    return taken


def _sums(out: Path) -> tuple[int, int]:
    """Return how many pairs there are, and a sum of their ids that wraps."""
    pairs, ids = 0, 0
    for batch in ds.dataset(out, format="parquet").to_batches(columns=["a_id", "b_id"]):
        pairs += batch.num_rows
        mixed = pc.bit_wise_xor(pc.multiply(batch["a_id"], 31), batch["b_id"])
        ids = (ids + (pc.sum(mixed).as_py() or 0)) % (1 << 64)
    return pairs, ids


_seen: dict[psutil.Process, float] = {}


def _cpu_s() -> float:
    """Return the CPU seconds of this process and all below it, those included that have ended since the last call.

    Spark ends idle Python workers, and nobody counts what they took. So each process counts as when it was last seen.
    """
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            _seen[process] = sum(process.cpu_times()[:2])
    return sum(_seen.values())


def _why_not() -> str | None:
    absent = [name for name in ("pyspark", "duckdb") if find_spec(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


BENCHMARKS = [
    Benchmark(
        "dataframes", "all pairs of two streams, from files to files", [beside_peers], why_not=_why_not, is_service=True
    ),
    Benchmark(
        "dataframes_growth", "what a detection costs over the archive", [growing], why_not=_why_not, is_service=True
    ),
    Benchmark(
        "dataframes_workers", "one worker of a Spark cluster and two", [on_workers], why_not=_why_not, is_service=True
    ),
]
