"""Calibration on a real Spark: what it writes is what `coincide learn` writes, from files and from the topic."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from coincide import Histogram
from coincide.command.main import main as coincide
from coincide.wire.declarations.template_proposal import PROPOSALS, TemplateForm, TemplateProposal, proposal_in
from deploy.host.machine import ROOT
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from deploy.local.broker import Broker
from services.common.kafka.topic_reader import TopicReader
from services.common.topics.topic_names import DEFAULT_NAMES
from services.ingest.templates.proposals_topic import read_proposals
from tests.integration.archive_process import ArchiveProcess, archive_job
from tests.integration.topics import create_declared_topics, records_of, send

pytestmark = pytest.mark.jvm

START_US, EVERY_US = 1_700_000_000_000_000, 60_000_000
PREFIX = "calibrate."
ANY = Histogram.uniform(-10, 0)
LATE_S = {"a": 0.0, "b": 0.5, "c": 2.0, "slow": 6.0, "few-1": 3.0, "few-2": 3.0}


def rows() -> list[dict[str, object]]:
    rng = np.random.default_rng(1987)
    found: list[dict[str, object]] = []
    for sensor, late_s in LATE_S.items():
        events = 20 if sensor.startswith("few") else 200
        at_us = START_US + np.arange(events) * EVERY_US + np.rint(rng.normal(late_s, 0.3, events) * 1e6).astype(int)
        labels = {"sensor": sensor, "area": "bay", "stream": "noise", "model": sensor.rstrip("-12")}
        found += [{"detected_at_us": at, **labels} for at in at_us.tolist()]
    return found


@pytest.fixture(scope="module")
def folder(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate")
    (folder / "log").mkdir()
    log, known = rows(), [{"detected_at_us": START_US + nth * EVERY_US} for nth in range(200)]
    for name, some in (("known", known), ("log", log)):
        text = "".join(json.dumps(row) + "\n" for row in some)
        (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
        pq.write_table(pa.Table.from_pylist(some), folder / f"{name}.parquet")
    half = len(log) // 2
    for nth, part in enumerate((log[half:], log[:half])):
        pq.write_table(pa.Table.from_pylist(part), folder / "log" / f"{nth}.parquet")
    present = {"templates": {"any": {"uniform": [-10, 0]}}}
    sensors = [
        {"id": sensor, "area": "bay", "model": sensor.rstrip("-12"), "streams": {"noise": "any"}} for sensor in LATE_S
    ]
    (folder / "present.yaml").write_text(yaml.safe_dump({**present, "sensors": sensors}), encoding="utf-8")
    config = {
        "kafka": {"servers": kafka.bootstrap},
        "topic_prefix": PREFIX,
        "master": "local[2]",
        "jars_path": str(ensure_jars(find_java()).spark),
        "shards": 2,
    }
    (folder / "fusion.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    options = ["--within", "20", "--out", str(folder / "learnt.yaml"), "--picture", str(folder / "learnt.svg")]
    assert coincide(["learn", str(folder / "log.ndjson"), "--reference", str(folder / "known.ndjson"), *options]) == 0
    return folder


def run(folder: Path, *arguments: str) -> None:
    options = [*arguments, "--within", "20", "--config", str(folder / "fusion.yaml")]
    environ = {**os.environ, "JAVA_HOME": str(find_java().home)}  # which the set-up may have fetched
    command = [sys.executable, "-m", "spark_jobs.calibrate", *options]
    subprocess.run(command, cwd=ROOT, env=environ, check=True, timeout=280)


@pytest.mark.parametrize(
    ("log", "known"),
    [("log.ndjson", "known.parquet"), pytest.param("log", "known.ndjson", marks=pytest.mark.night)],
)
def test_from_files_it_writes_what_the_command_does(folder: Path, log: str, known: str) -> None:
    out = folder / f"{log}.yaml"
    picture = ("--picture", str(out.with_suffix(".svg")))
    run(folder, str(folder / log), "--reference", str(folder / known), "--out", str(out), *picture)
    assert out.with_suffix(".svg").read_text(encoding="utf-8") == (folder / "learnt.svg").read_text(encoding="utf-8")
    assert out.read_text(encoding="utf-8") == (folder / "learnt.yaml").read_text(encoding="utf-8")


def test_from_the_topic_it_proposes(folder: Path, kafka: Broker) -> None:
    create_declared_topics(kafka.bootstrap, PREFIX)
    send(kafka.bootstrap, f"{PREFIX}detections", [(b"bay", frame(rows()[at : at + 100])) for at in range(0, 840, 100)])
    known, present = str(folder / "known.ndjson"), str(folder / "present.yaml")
    run(folder, "--topic", "--reference", known, "--present", present, "--propose")
    written = records_of(kafka.bootstrap, f"{PREFIX}template-proposals")
    proposals = {each.sensor: each for each in (proposal_in(json.dumps(record.value).encode()) for record in written)}
    assert {*proposals} == {sensor for sensor in LATE_S if not sensor.startswith("few")}  # half of 40 errors judge none
    for sensor, proposal in proposals.items():
        assert proposal.pool == "own"
        assert proposal.histogram.mean_s == pytest.approx(-LATE_S[sensor], abs=0.1)
        assert proposal.present_score is not None
        assert proposal.score is not None
        assert proposal.score > proposal.present_score


@pytest.mark.night
def test_from_what_the_archive_job_wrote_it_learns_what_it_learns_from_the_log(folder: Path, kafka: Broker) -> None:
    """The same detections with the same times; the archive knows no models, so the few are learnt from their stream."""
    prefix, log = "calibrate-archive.", [{**row, "model": None} for row in rows()]
    create_declared_topics(kafka.bootstrap, prefix)
    with archive_job(kafka.bootstrap, prefix, folder) as job:
        job.start()
        for at in range(0, len(log), 210):  # batches of their own, which are merged in the end
            some = log[at : at + 210]
            send(kafka.bootstrap, f"{prefix}detections", [(b"bay", frame(some))])
            job.until(partial(has_rows, job, at + len(some)))
        assert job.stop() == 0
    (folder / "no-models.ndjson").write_text("".join(json.dumps(row) + "\n" for row in log), encoding="utf-8")
    for source, out in ((job.path, "archived.yaml"), (folder / "no-models.ndjson", "logged.yaml")):
        run(folder, str(source), "--reference", str(folder / "known.ndjson"), "--out", str(folder / out))
    learnt = [(folder / out).read_text(encoding="utf-8") for out in ("archived.yaml", "logged.yaml")]
    assert learnt[0] == learnt[1]
    assert {each["id"] for each in yaml.safe_load(learnt[0])["sensors"]} == {*LATE_S}


def test_ingest_reads_the_newest_proposal_of_each(kafka: Broker) -> None:
    def proposal(sensor: str, nth: int) -> TemplateProposal:
        form = TemplateForm([-1.0 * nth, 0.0], [1.0])
        figures: dict[str, Any] = {"errors": 30, "pool": "own", "wrong_share": 0.0, "proposed_at_us": nth}
        return TemplateProposal(id=f"p-{sensor}-{nth}", sensor=sensor, stream="noise", template=form, **figures)

    sent = [proposal("b", 1), proposal("a", 2), proposal("b", 3)]
    records = [(each.key, each.to_record()) for each in sent]
    send(kafka.bootstrap, DEFAULT_NAMES.full(PROPOSALS), [*records, (b'["c","noise"]', b"no proposal")])
    found = read_proposals(partial(TopicReader.connected, kafka.connection), DEFAULT_NAMES)
    assert found == [sent[1], sent[2]]


def has_rows(job: ArchiveProcess, count: int) -> bool:
    return len(job.rows()) == count


def frame(some: list[dict[str, object]]) -> dict[str, object]:
    """Return a frame of detections, as ingest writes it."""
    names = sorted({str(row["sensor"]) for row in some})
    stamps = [{"sensor": name, "stream": "noise", "template": ANY.id} for name in names]
    at = [names.index(str(row["sensor"])) for row in some]
    columns = {"stamp": at, "detected_at_us": [row["detected_at_us"] for row in some]}
    columns["id"] = [f"h{nth}" for nth in range(len(some))]
    return {
        "v": 2,
        "area": "bay",
        "received_at_us": START_US,
        "templates": {ANY.id: ANY.to_json()},
        "stamps": stamps,
        "detections": columns,
    }
