"""What-if over an hour at 1,000/s and a day at 100/s, asked of `serve` as a user asks it, beside DuckDB.

The run counts matches, episodes and chance at 91 thresholds. DuckDB reads the same files with 2 threads and counts the
pairs at the least of them, from the ranges of offsets that we tell it: it knows neither thresholds above nor episodes
nor chance. Both counts must agree. Wall time, and the CPU time of the process with its children.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx2
import psutil
import yaml

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.rounds import cpu_seconds
from benchmarks.history.archived import BEGUN_US, LEAST, QUERY, STREAMS, TEMPLATES, WINDOW_S, Size, write_archive
from benchmarks.line.gateways import is_ready
from coincide import Window, satisfaction_offsets
from deploy.host.machine import ROOT, free_ports, wait_until
from services.history.archiving.folders import Archive
from services.history.archiving.layout import counting_files

SIZES = [Size(1_000, 3_600), Size(100, 86_400)]
QUICK = [Size(100, 600)]
THREADS = 2
LONGEST_S = 600.0


class Answered(NamedTuple):
    """What a what-if took: until it told progress, until the answer, of CPU; and the points of its curve."""

    first_s: float
    wall_s: float
    cpu_s: float
    peak_mb: float
    curve: list[dict[str, Any]]


def tables(options: Options) -> Iterator[Table]:
    headings = ["a second", "detections", "counted", "first progress s", "wall s", "CPU s", "MB", "DuckDB wall s"]
    yield Table(headings, (_row(size) for size in (QUICK if options.quick else SIZES)))


def _row(size: Size) -> list[Any]:
    with TemporaryDirectory(prefix="coincide-bench-") as folder:
        archive = write_archive(Path(folder) / "archive", size)
        with serving(archive, Path(folder)) as (client, process):
            ours = _asked(client, process, size)
        begun_s = time.perf_counter()
        pairs = _duckdb(archive)
        duckdb_s = time.perf_counter() - begun_s
        if pairs != ours.curve[0]["matches"]:
            raise SystemExit(f"DuckDB counts {pairs} pairs, we {ours.curve[0]}")
    figures = [f"{each:.2f}" for each in (ours.first_s, ours.wall_s, ours.cpu_s)]
    return [size.rate_hz, size.rate_hz * size.seconds, pairs, *figures, f"{ours.peak_mb:.0f}", f"{duckdb_s:.2f}"]


@contextmanager
def serving(archive: Archive, folder: Path, **settings: str) -> Iterator[tuple[httpx2.Client, psutil.Process]]:
    """Run `serve` over an archive; without Kafka, which a run of a document over an archive does not need."""
    [port] = free_ports(1)
    streams = {name: {"max_delay_s": 120, "longest_template_s": 1} for name in STREAMS}
    (folder / "streams.yaml").write_text(yaml.safe_dump({"streams": streams}), encoding="utf-8")
    own = {
        "PORT": str(port),
        "ARCHIVE_PATH": json.dumps(str(archive.path)),
        "RUNS_PATH": json.dumps(str(folder / "runs")),
        "STREAMS_PATH": json.dumps(str(folder / "streams.yaml")),
        "MAX_COUNTED": "1000000000",
        **settings,
    }
    environ = {**os.environ, **{f"COINCIDE_HISTORY_{name}": value for name, value in own.items()}}
    command = [sys.executable, "-m", "spark_jobs.history", "serve"]
    with (folder / "serve.log").open("wb") as log:
        process = psutil.Popen(
            command, cwd=ROOT, env=environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        if not wait_until(lambda: is_ready(port), 60):
            raise SystemExit((folder / "serve.log").read_text(errors="replace")[-2000:])
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client, process
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder / "runs", ignore_errors=True)


def asked(size: Size, **more: Any) -> dict[str, Any]:
    """Return the request of a what-if over a whole archive."""
    to_us = BEGUN_US + size.seconds * 1_000_000
    return {"query": QUERY, "from": BEGUN_US, "to": to_us, "min_threshold": LEAST, "keeps_matches": False, **more}


def _asked(client: httpx2.Client, process: psutil.Process, size: Size) -> Answered:
    """Ask, and look every 50 ms how far it is."""
    begun_s, begun_cpu_s, peak_b, first_s, cpu_s = time.perf_counter(), cpu_seconds(process), 0, 0.0, 0.0
    run = client.post("/v1/history-runs", json=asked(size)).raise_for_status().json()["run"]
    while time.perf_counter() - begun_s < LONGEST_S:
        said = client.get(f"/v1/history-runs/{run}").json()
        wall_s = time.perf_counter() - begun_s
        first_s = first_s or (wall_s if said["state"] != "queued" else 0.0)
        family = [process, *process.children(recursive=True)]
        peak_b = max(peak_b, sum(_rss(each) for each in family))
        cpu_s = max(cpu_s, _cpu(family) - begun_cpu_s)
        if said["state"] not in ("queued", "running"):
            break
        time.sleep(0.05)
    if said["state"] != "done":
        raise SystemExit(f"the run ended with {said}")
    return Answered(first_s, wall_s, cpu_s, peak_b / 1e6, said["curve"])


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _cpu(family: list[psutil.Process]) -> float:
    try:
        return cpu_seconds(*family)
    except psutil.Error:
        return 0.0


def _duckdb(archive: Archive) -> int:
    """Count the pairs by equal buckets of time, as long as the widest range of offsets."""
    import duckdb

    files = [str(folder / file.name) for folder in archive.folders() for file in counting_files(folder)]
    ranges = [
        (u.id, v.id, int(lo), int(hi))
        for u in TEMPLATES
        for v in TEMPLATES
        for lo, hi in satisfaction_offsets(u, v, Window(WINDOW_S), LEAST).tolist()
    ]
    least, greatest = min(each[2] for each in ranges), max(each[3] for each in ranges)
    bucket = greatest - least + 1
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        connection.execute("CREATE TABLE ranges (u VARCHAR, v VARCHAR, lo BIGINT, hi BIGINT)")
        connection.executemany("INSERT INTO ranges VALUES (?, ?, ?, ?)", ranges)
        counted = connection.execute(
            f"""
            WITH rows AS (SELECT area, stream, template, sensor_id, detected_at_us AS t FROM read_parquet(?)),
            s AS (SELECT *, t // {bucket} AS bucket FROM rows WHERE stream = '{STREAMS[0]}'),
            a AS (SELECT *, unnest(range((t - {greatest}) // {bucket}, (t - {least}) // {bucket} + 1)) AS bucket
                  FROM rows WHERE stream = '{STREAMS[1]}')
            SELECT count(*) FROM s JOIN a USING (area, bucket)
            JOIN ranges ON u = s.template AND v = a.template WHERE a.t - s.t BETWEEN lo AND hi
            """,
            [files],
        ).fetchone()
    return int(counted[0]) if counted else 0


BENCHMARKS = [Benchmark("what_if", "a what-if over an hour and over a day, beside DuckDB", [tables])]
