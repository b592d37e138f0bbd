"""Every engine as it is run here: its command, what it is given, what it reads and how its results are read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.peers_line import installation
from benchmarks.peers_line.load import STREAMS, WINDOW_MS, Detections, Record, frames, plain_records
from benchmarks.peers_line.watching import match_pair, plain_pair
from deploy.host.machine import ROOT, free_ports
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java

DELAY_S = 10
HERE = Path(__file__).resolve().parent
QUERY = {
    "from": {stream: stream for stream in STREAMS},
    "within": [{"between": [*STREAMS], "window_s": (WINDOW_MS + 0.5) / 1e3, "threshold": 0.6}],
}
OUR_INPUTS = ("detections", "queries")
OUR_OUTPUTS = ("matches", "episodes", "dead-letters", "status", "activations", "deferrals")


@dataclass(frozen=True)
class Job:
    """One run of an engine: where Kafka is, what all its topics begin with, and a folder for what it keeps."""

    bootstrap: str
    prefix: str
    results: str
    folder: Path
    size: int  # detections a record

    def given(self, **more: object) -> str:
        """Return the settings as a program of ours reads them."""
        same = {"bootstrap": self.bootstrap, "prefix": self.prefix, "results": self.results, "delay_s": DELAY_S}
        return json.dumps({**same, "window_ms": WINDOW_MS, "is_batched": self.size > 1, **more})


# Spark's own state store and compiler: with those of our job (RocksDB, C1 alone) it was slower on a long backlog
SPARK = {
    "memory": "3g",
    "properties": {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
        ),
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    },
}

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Contestant:
    """An engine; `sizes` are detections a record in a backlog and under load, for each way to run it."""

    name: str
    given: str
    sizes: Sequence[tuple[int, int]]
    commands: Callable[[Job], tuple[list[Command], dict[str, str]]]
    why_not: Callable[[], str | None] = lambda: None
    is_ours: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads, then those that it writes, after the prefix."""
        return OUR_INPUTS if self.is_ours else STREAMS

    def records(self, chunk: Detections, sent_us: int, *, is_batched: bool) -> Iterator[Record]:
        """Yield the records that carry detections of one area."""
        return frames(chunk, sent_us) if self.is_ours else plain_records(chunk, sent_us, is_batched=is_batched)

    def results(self, prefix: str) -> str:
        """Return the name of the topic of its results."""
        return prefix + ("matches" if self.is_ours else f"{self.name}.results")

    def pair(self, value: bytes) -> tuple[int, int, int]:
        """Return both ids and when the later one was sent."""
        read = match_pair if self.is_ours else plain_pair
        return read(json.loads(value))

    @contextmanager
    def running(self, job: Job) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Run it and yield its processes; one that ends by itself has failed, and its log says why."""
        commands, environ = self.commands(job)
        java = find_java()
        everything = {**os.environ, "JAVA_HOME": str(java.home), "PYTHONUNBUFFERED": "1", **environ}
        with (job.folder / "log").open("wb") as log:
            started = [
                subprocess.Popen(command, cwd=ROOT, env=everything, stdout=log, stderr=subprocess.STDOUT)
                for command in commands
            ]
        try:
            yield started
            if any(each.poll() is not None for each in started):
                raise SystemExit(f"{self.name} ended: {(job.folder / 'log').read_text(errors='replace')[-3000:]}")
        finally:
            for each in started:
                each.terminate()
            for each in started:
                each.wait(60)


def coincide_commands(job: Job) -> tuple[list[Command], dict[str, str]]:
    bounds = {"max_delay_s": DELAY_S, "longest_template_s": 1}
    streams = job.folder / "streams.yaml"
    streams.write_text(yaml.safe_dump({"streams": dict.fromkeys(STREAMS, bounds)}), encoding="utf-8")
    texts = {
        "TOPIC_PREFIX": job.prefix,
        "STREAMS_PATH": str(streams),
        "CHECKPOINT_PATH": str(job.folder / "checkpoint"),
    }
    environ = {f"COINCIDE_FUSION_{name}": json.dumps(value) for name, value in texts.items()}
    environ["COINCIDE_KAFKA_SERVERS"] = job.bootstrap
    environ["COINCIDE_FUSION_PORT"] = str(free_ports(1)[0])
    return [[sys.executable, "-m", "spark_jobs.fusion"]], environ


def spark_commands(job: Job) -> tuple[list[Command], dict[str, str]]:
    jars = ",".join(map(str, sorted(ensure_jars(find_java()).spark.glob("*.jar"))))
    more = {"jars": jars, "checkpoint": str(job.folder / "checkpoint"), **SPARK}
    # of each stream; larger ones are cheaper, but a backlog is to be many of them
    given = job.given(records_a_batch=50_000 if job.size == 1 else 200, **more)
    return [[sys.executable, "-m", "benchmarks.peers_line.spark_join", given]], {}


def flink_commands(job: Job) -> tuple[list[Command], dict[str, str]]:
    installation.compile_join(find_java())
    settings = {
        "taskmanager.memory.network.min": "128mb",
        "taskmanager.memory.network.max": "128mb",
        "execution.buffer-timeout.interval": "10 ms",
        "pipeline.object-reuse": "true",
        "state.backend.type": "hashmap",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": (job.folder / "checkpoint").as_uri(),
    }
    words = [job.bootstrap, job.prefix, job.results, str(WINDOW_MS), str(DELAY_S), str(job.size > 1).lower()]
    opened = [f"--add-opens=java.base/{of}=ALL-UNNAMED" for of in ("java.lang", "java.util", "java.net", "java.nio")]
    java: Command = [find_java().executable, "-Xmx3g", *opened, "-cp", installation.flink_classpath(), "Join"]
    return [[*java, *words, ";".join(f"{name}={value}" for name, value in settings.items())]], {}


def quix_commands(job: Job) -> tuple[list[Command], dict[str, str]]:
    program = [installation.QUIX_PYTHON, HERE / "quix_join.py"]
    return [[*program, job.given(folder=str(job.folder / f"state-{each}"))] for each in range(2)], {}


def unless(installed: Callable[[], bool]) -> Callable[[], str | None]:
    """Return what says that a peer is absent."""
    return lambda: None if installed() else "install it with `python -m benchmarks.peers_line.installation`"


CONTESTANTS = (
    Contestant("coincide", "local[2], one shard, 1 GB heap", [(500, 20), (20, 1)], coincide_commands, is_ours=True),
    Contestant(
        "flink",
        "parallelism 2, 3 GB heap, state on the heap",
        [(500, 20), (1, 1)],
        flink_commands,
        unless(installation.has_flink),
    ),
    Contestant("spark", "local[2], 3 GB heap, state on the heap", [(500, 20), (1, 1)], spark_commands),
    Contestant("quix", "two processes of one consumer group", [(1, 1)], quix_commands, unless(installation.has_quix)),
)
