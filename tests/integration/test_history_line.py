"""Runs over history on a real system: what they say is what the live job has said, and what the library says."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Detections, Histogram, Window, timing_join
from deploy.host.machine import ROOT
from deploy.local.broker import Broker
from tests.coincide.fusion.inputs import Row, declaration, frame, put
from tests.integration.archive_process import ArchiveProcess, archive_job
from tests.integration.fusion_process import QUERY, FusionProcess, fusion_job
from tests.integration.topics import send

pytestmark = [pytest.mark.jvm, pytest.mark.night]

PREFIX = "past."
TEMPLATES = {"seismic": Histogram.uniform(-1, 1), "acoustic": Histogram.normal(sigma_s=0.8, buckets=6)}
AREAS = 5
LATE_S = 600.0  # beyond max_delay_s of the declared streams
DELAYS_S = [5.0, 400.0, 1.0, 30.0]  # of acoustic, while the job runs


@dataclass
class Past:
    """What was posted, and the jobs that took it."""

    fusion: FusionProcess
    archive: ArchiveProcess
    folder: Path
    begun_us: int
    posted: int = 0
    late: int = 0

    def frames(self, seed: int, count: int = 300, late: int = 0) -> list[tuple[bytes, bytes]]:
        """Return detections of the last half minute, the newest of them late, in small frames."""
        rng, now_s = np.random.default_rng(seed), time.time()
        rows = []
        for nth, at_s in enumerate(np.sort(rng.uniform(now_s - 30, now_s, count)).tolist()):
            stream = str(rng.choice(["seismic", "acoustic"]))
            behind_s = LATE_S if nth >= count - late else 0.0
            sensor = f"{stream}-{int(rng.integers(AREAS))}"
            rows.append(Row(f"{seed}-{nth}", at_s - behind_s, TEMPLATES[stream], stream, sensor))
        self.posted += count
        by_area: dict[str, list[Row]] = {}
        for row in rows:
            by_area.setdefault("area-" + row.sensor.split("-")[1], []).append(row)
        written = [
            frame(0, of_area[first : first + 8], area, received_at_s=time.time())
            for area, of_area in by_area.items()
            for first in range(0, len(of_area), 8)
        ]
        return [(each.key or b"", each.value or b"") for each in written]

    def send(self, frames: list[tuple[bytes, bytes]]) -> None:
        send(self.fusion.bootstrap, PREFIX + "detections", frames)

    def post(self, seed: int, late: int = 0) -> None:
        """Post detections, and return when all are dealt with."""
        self.send(self.frames(seed, late=late))
        self.wait_until_taken()

    def wait_until_taken(self) -> None:
        """Return when fusion has judged all that was posted; `late` says of how many it found that they were late."""

        def is_taken() -> bool:
            names = ("coincide_fusion_accepted_total", "coincide_fusion_late_total")
            accepted, late = (int(self.fusion.metric(name) or 0) for name in names)
            self.late = late
            return accepted + late == self.posted

        self.fusion.until(is_taken)

    def send_version(self, version: int, threshold: float, *, paused: bool = False) -> None:
        within = [{**QUERY["within"][0], "threshold": threshold}]  # type: ignore[index]
        record = put(0, {**QUERY, "within": within, "coalesce": {"gap_s": 1}}, version, paused=paused)
        content = {**json.loads(record.value or b""), "changed_at_us": time.time_ns() // 1_000}
        send(self.fusion.bootstrap, PREFIX + "queries", [(record.key or b"", content)])

    def put(self, version: int, threshold: float, *, paused: bool = False) -> None:
        """Change the query, and return when that is in force."""
        self.send_version(version, threshold, paused=paused)
        name = 'coincide_fusion_query_version{query="intruder"}'
        self.fusion.until(lambda: self.fusion.metric(name) == version)

    def send_delay(self, version: int, delay_s: float) -> None:
        record = declaration(0, "acoustic", delay_s, 60, version)
        send(self.fusion.bootstrap, PREFIX + "queries", [(record.key or b"", record.value or b"")])

    def change_while_posting(self, version: int, thresholds: list[float]) -> None:
        """Post without a pause, and change query and stream in between: nobody knows which batch a change is in."""
        for nth, threshold in enumerate(thresholds):
            self.send(self.frames(1_000 * version + nth, 60))
            self.send_version(version + nth, threshold)
            self.send(self.frames(1_000 * version + 300 + nth, 60))
            self.send_delay(nth + 1, DELAYS_S[nth])
            self.send(self.frames(1_000 * version + 500 + nth, 60))
        self.wait_until_taken()

    def history(self, *arguments: str) -> dict[str, Any]:
        settings = {
            "TOPIC_PREFIX": PREFIX,
            "ARCHIVE_PATH": json.dumps(str(self.archive.path)),
            "RUNS_PATH": json.dumps(str(self.folder / "runs")),
        }
        environ = {f"COINCIDE_HISTORY_{name}": value for name, value in settings.items()}
        environ["COINCIDE_KAFKA_SERVERS"] = self.fusion.bootstrap
        command = [sys.executable, "-m", "spark_jobs.history", *arguments]
        ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 0, ended.stderr
        said: dict[str, Any] = json.loads(ended.stdout)
        return said

    def run(self, *arguments: str, query: str = "intruder") -> dict[str, Any]:
        span = ("--from", str(self.begun_us), "--to", str(time.time_ns() // 1_000))
        return self.history("run", "--query", query, *span, *arguments)


@pytest.fixture(scope="module")
def past(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    folder = tmp_path_factory.mktemp("past")
    begun_us = time.time_ns() // 1_000 - 1_000_000_000  # what is late was detected then, too
    with fusion_job(kafka.bootstrap, PREFIX, folder) as fusion, archive_job(kafka.bootstrap, PREFIX, folder) as archive:
        fusion.start_and_wait()
        past = Past(fusion, archive, folder, begun_us)
        past.put(1, 0.6)
        past.post(1)
        past.put(2, 0.3)
        past.post(2, late=40)
        past.change_while_posting(3, [0.5, 0.2, 0.7, 0.4])
        fusion.kill()
        fusion.start_and_wait()
        past.put(7, 0.3, paused=True)
        past.post(7, late=10)
        past.put(8, 0.5)
        past.post(8)
        fusion.stop()
        archive.start()
        archive.until(lambda: len(archive.rows()) >= past.posted)
        archive.stop()
        yield past


def test_as_live_says_what_the_live_job_said(past: Past) -> None:
    """Threshold and delay have changed, the query was paused, some were late, and the job was killed."""
    live = past.fusion.read_all("matches")
    assert {match["query_version"] for match in live} >= {1, 2, 4, 8}
    said = past.run("--as-live")
    compared = past.history("compare", said["run"])
    assert compared["counts"] == {
        "added": 0,
        "gone": 0,
        "changed": 0,
        "same": len({match["id"] for match in live}),
        "older": 0,
    }
    assert said["replayed"]["late"] == past.late > 50
    lines = (Path(said["folder"]) / "matches.ndjson").read_text().splitlines()
    assert {line["id"]: line["query_version"] for line in map(json.loads, lines)} == {
        match["id"]: match["query_version"] for match in live
    }


def test_as_live_over_a_part_of_the_range_has_the_matches_that_came_then(past: Past) -> None:
    received_us = sorted(match["received_at_us"] for match in past.fusion.read_all("matches"))
    middle = str(received_us[len(received_us) // 2])
    span = ("--from", str(past.begun_us), "--to", middle)
    said = past.history("run", "--query", "intruder", *span, "--as-live", "--source", "topic")
    assert 0 < said["matches"] == sum(each < int(middle) for each in received_us)
    assert past.history("compare", said["run"])["counts"]["gone"] == 0


def test_the_curve_at_the_live_threshold_is_what_is_live(past: Past) -> None:
    """Of a query that was in force all the time with one threshold: here as a document, over all frames."""
    document = past.folder / "steady.json"
    document.write_text(json.dumps({**QUERY, "id": "steady", "coalesce": {"gap_s": 1}}))
    said = past.run("--as-live", "--source", "topic", query=str(document))
    [own] = [point for point in said["curve"] if point["threshold"] == said["own_threshold"]]
    episodes = (Path(said["folder"]) / "episodes.ndjson").read_text().splitlines()
    assert own == {"threshold": 0.6, "matches": said["matches"], "episodes": len(episodes)}
    assert said["matches"] > 20


def test_complete_is_the_librarys_answer_from_archive_and_topic(past: Past) -> None:
    said = [past.run("--source", source, "--min-threshold", "0.2") for source in ("archive", "topic")]
    found = [matches_of(each) for each in said]
    assert found[0] == found[1] == library_answer(past, 0.5)
    for each in said:
        by_threshold = {point["threshold"]: point["matches"] for point in each["curve"]}
        assert {at: len(library_answer(past, at)) for at in (0.2, 0.35, 0.5, 0.8)} == {
            at: by_threshold[at] for at in (0.2, 0.35, 0.5, 0.8)
        }
    compared = past.history("compare", said[0]["run"], said[1]["run"])
    assert compared["counts"] == {"added": 0, "gone": 0, "changed": 0, "same": len(found[0])}
    assert past.history("compare", said[0]["run"])["counts"]["added"] > 0  # what was late, or came while it was paused


def matches_of(said: dict[str, Any]) -> set[tuple[str, ...]]:
    lines = (Path(said["folder"]) / "matches.ndjson").read_text().splitlines()
    return {tuple(member["id"] for member in match["members"]) for match in map(json.loads, lines)}


def library_answer(past: Past, threshold: float) -> set[tuple[str, ...]]:
    """Return the pairs of the whole archive, by ids."""
    rows = [row for row in past.archive.rows().to_pylist() if row["detected_at_us"] >= past.begun_us]
    sides = []
    for stream, template in TEMPLATES.items():
        of = [row for row in rows if row["stream"] == stream]
        columns = ([row[name] for row in of] for name in ("detected_at_us", "area", "sensor_id"))
        at_us, area, sensor = columns
        sides.append((Detections(at_us, [template], None, area, sensor), [row["id"] for row in of]))
    (s, s_ids), (a, a_ids) = sides
    pairs = timing_join(s, a, Window(2.0), threshold)
    return {(s_ids[left], a_ids[right]) for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)}
