"""Where the time goes: CPU time of one detection, by process and stage, from its POST to the live stream.

First the line in one process (`one_process`) says what our own Python takes, stage by stage. Then the whole line runs
at the same rate, with POSTs and micro-batches of the same size, and every process says what it takes, some of them by
thread. What a process takes beyond its stages is one row: sockets, event loops, Arrow, interpreters. So the rows of the
table add up to the CPU time of the whole line, but for the load itself.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx2

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.line.gateways import OpenLoop
from benchmarks.line.one_process import Load, one_process
from benchmarks.line.stage_clock import Stage, StageClock
from benchmarks.line.threads import (
    DRIVER,
    FOLLOWER,
    INGEST,
    JVM,
    KAFKA,
    LIVE,
    PRODUCER,
    REST,
    WORKER,
    Part,
    sample,
    spent_s,
)
from benchmarks.line.throughput import Progress, total
from benchmarks.line.whole_line import DETECTIONS_PER_MATCH, body_now, running
from deploy.host.machine import wait_until
from deploy.local.system import System

ORDER = (INGEST, PRODUCER, KAFKA, JVM, DRIVER, WORKER, FOLLOWER, LIVE)
STAGES = [
    Stage(INGEST, "parse", ("services.ingest.http.detections_endpoint:items_of",)),
    Stage(INGEST, "stamp", ("services.ingest.intake.intake:Intake._judge",)),
    Stage(INGEST, "encode the frames", ("services.ingest.stamping.frames:FrameDraft.frames",)),
    Stage(INGEST, "answer", ("services.ingest.http.detections_endpoint:DetectionsEndpoint._response",)),
    Stage(WORKER, "Python boundary", ("spark_jobs.job.processor:FusionProcessor.handleInputRows",)),
    Stage(WORKER, "decode", ("coincide.fusion.core.admission:RowAdmission._decode",)),
    Stage(WORKER, "lateness, dedupe", ("coincide.fusion.core.admission:RowAdmission._accept",)),
    Stage(WORKER, "buffer", ("coincide.fusion.matching.finder:Finder.insert",)),
    Stage(WORKER, "search", ("coincide.fusion.matching.finder:Finder.find",)),
    Stage(WORKER, "verdict", ("coincide.fusion.matching.match_recorder:MatchRecorder._verdicts",)),
    Stage(WORKER, "record", ("coincide.fusion.kinds.join_kind:JoinKind._matches",)),
    Stage(WORKER, "sweep", ("coincide.fusion.core.fusion_core:FusionCore._drop_needless",)),
    Stage(
        WORKER,
        "state",
        (
            "coincide.fusion.core.fusion_core:FusionCore._write_journal",
            "coincide.fusion.core.fusion_core:FusionCore.header",
            "spark_jobs.job.processor:FusionProcessor._load",
            "spark_jobs.job.processor:FusionProcessor._save",
        ),
    ),
    Stage(WORKER, "order, status", ("coincide.fusion.core.fusion_core:FusionCore.push",)),
    Stage(FOLLOWER, "decode", ("services.alerting.following.storing:sort_records",)),
    Stage(FOLLOWER, "store", ("services.alerting.following.storing:Storage.store",)),
    Stage(
        LIVE,
        "send",
        (
            "services.alerting.live.hub:LiveHub.publish",
            "services.alerting.live.event_stream:LiveStream._encoded",
        ),
    ),
]
RATE, DETECTIONS_A_POST, POSTS_A_BATCH = 10_000, 500, 8
MAX_DELAY_S = 10.0


class Cost(NamedTuple):
    """A row of the table: microseconds of CPU time that one detection takes there."""

    process: str
    stage: str
    us: float


def of_stages(load: Load, warm_s: float, seconds: float, rounds: int) -> list[Cost]:
    """Return what each stage takes: the median of some rounds, each on a line that had run for `warm_s` before."""
    taken = [asyncio.run(_round(load, int(warm_s * load.rate), int(seconds * load.rate))) for _ in range(rounds)]
    return [Cost(each.process, each.name, statistics.median(of[each] for of in taken)) for each in STAGES]


async def _round(load: Load, warm: int, measured: int) -> Mapping[Stage, float]:
    """Return microseconds a detection by stage; `warm` detections go first and are not measured."""
    clock, batches = StageClock(), load.batches(warm + measured)
    with tempfile.TemporaryDirectory() as folder:
        async with one_process(Path(folder), MAX_DELAY_S) as line:
            warm_batches = warm // (load.detections_a_post * load.posts_a_batch)
            for _ in range(warm_batches):
                await line.carry(next(batches))
            with clock.running(STAGES):
                done = 0
                for batch in batches:
                    await line.carry(batch)
                    done += len(batch) * load.detections_a_post
            if line.readers.matches != (found := (warm + measured) // DETECTIONS_PER_MATCH):
                raise SystemExit(f"{line.readers.matches} matches came to the live stream, not {found}")
    return {stage: clock.ns[stage] / 1e3 / done for stage in STAGES}


class Run(NamedTuple):
    """What a run of the whole line took: microseconds a detection by part, and how large its micro-batches were."""

    us: Mapping[Part, float]
    posts_a_batch: float


def of_whole_line(warm_s: float, seconds: float) -> Run:
    """Run the whole line at the rate, with one reader of the live stream, and say what its processes took."""
    with running(MAX_DELAY_S) as system, reading(system):
        load = OpenLoop(system.layout.ports.ingest, DETECTIONS_A_POST, body_now)
        load.offer(RATE, warm_s)
        _come_through(system, load)
        before, posts, batches = sample(system), load.posts, batches_of(system)
        load.offer(RATE, seconds)
        _come_through(system, load)
        spent, batches = spent_s(before, sample(system)), batches_of(system) - batches
    posts = load.posts - posts
    return Run({part: each / posts / DETECTIONS_A_POST * 1e6 for part, each in spent.items()}, posts / batches)


@contextmanager
def reading(system: System) -> Iterator[None]:
    """Read the live stream as a browser does, which looks at nothing."""
    with (
        httpx2.Client(timeout=60) as client,
        client.stream("GET", f"{system.layout.url('alerting')}/v1/live") as answer,
    ):
        threading.Thread(target=_read, args=(answer,), daemon=True).start()
        yield


def _read(answer: httpx2.Response) -> None:
    with suppress(httpx2.HTTPError, httpx2.StreamError):  # it is closed at the end
        for _ in answer.iter_raw():
            pass


def batches_of(system: System) -> float:
    """Return how many micro-batches there were so far."""
    return total(httpx2.get(f"{system.layout.url('fusion')}/metrics").text, "coincide_fusion_batches_total")


def _come_through(system: System, load: OpenLoop) -> None:
    if not wait_until(lambda: Progress.of(system).backlog(load.offered) <= 0, 60):
        raise SystemExit(f"not all of {load.offered} detections came through within 60 s")


def beyond(run: Run, stages: Sequence[Cost]) -> list[Cost]:
    """Return what the parts of a run took beyond these stages."""
    known = defaultdict[str, float](float)
    for cost in stages:
        known[cost.process] += cost.us
    return [Cost(*part, us - (known[part.process] if part.what == REST else 0.0)) for part, us in run.us.items()]


def table(costs: Sequence[Cost], title: str = "") -> Table:
    """Return the table: processes in the order of the line, the stages of each before its rest."""
    total = sum(cost.us for cost in costs)
    ordered = sorted(costs, key=lambda cost: (ORDER.index(cost.process), cost.stage == REST))
    rows = [[*cost[:2], f"{cost.us:.2f}", f"{cost.us / total:.0%}"] for cost in ordered]
    return Table(["process", "stage", "µs a detection", "share"], [*rows, ["all", "", f"{total:.2f}", "100%"]], title)


def tables(options: Options) -> Iterator[Table]:
    """Yield the table of the whole line; the quick one has our own stages alone."""
    if options.quick:
        yield table(of_stages(Load(RATE, DETECTIONS_A_POST, POSTS_A_BATCH), 2, 2, options.rounds_of(1)))
        return
    run = of_whole_line(15, 30)
    stages = of_stages(Load(RATE, DETECTIONS_A_POST, max(1, round(run.posts_a_batch))), 12, 10, options.rounds_of(3))
    yield table(stages + beyond(run, stages), f"{run.posts_a_batch:.1f} POSTs a micro-batch")


BENCHMARKS = [Benchmark("stages", "CPU time of a detection from its POST to the live stream, by stage", [tables])]
