"""Runs that learn templates: on reports whose delay is known they learn it, and propose what does better."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Stream, Window
from coincide.learning import Learning, SensorStream, calibrate, errors_against
from coincide.wire.declarations.template_proposal import TemplateProposal
from services.common.log.faults import LogError
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.replaying.request import LearningRequest, RunError, request_in
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.runs.learning_run import LearningRun
from spark_jobs.history import past_of
from spark_jobs.settings import HistorySettings
from tests.coincide.fusion.inputs import Row, frame
from tests.services.history.replaying.test_answers import no_log, table_of
from tests.test_contracts import faults

START_S, EVERY_S, EVENTS = 1_700_000_000, 60, 300  # five hours, across midnight
BEGIN_US, END_US = (START_S - EVERY_S // 2) * 10**6, (START_S + EVERY_S * EVENTS) * 10**6
STREAMS = {"noise": Stream("noise"), "truth": Stream("truth")}
ANY, SHARP = Histogram.uniform(-8, 0), Histogram.normal(0.1)
#: How late each sensor reports on average, its present template, and how many events it reports.
BAY = {"a": (0.0, SHARP, 300), "b": (0.0, SHARP, 300), "c": (0.0, SHARP, 300), "slow": (4.0, ANY, 300)}
TOWN = {"quick": (1.0, ANY, 300), "few": (1.0, ANY, 12)}


def reports(sensors: dict[str, tuple[float, Histogram, int]], stream: str, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        Row(f"{sensor}-{nth}", START_S + EVERY_S * nth + late_s + float(error_s), template, stream, sensor)
        for sensor, (late_s, template, events) in sensors.items()
        for nth, error_s in enumerate(rng.normal(0, 0.1, events))
    ]


def truth(sensor: str) -> list[Row]:
    return [
        Row(f"{sensor}-{nth}", START_S + EVERY_S * nth, Histogram.point(), "truth", sensor) for nth in range(EVENTS)
    ]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Two areas, each with a stream that is right."""
    archive = Archive.opened(tmp_path / "archive", 3)
    batches = [("bay", reports(BAY, "noise", 1)), ("town", reports(TOWN, "noise", 2))]
    batches += [("bay", truth("bay-clock")), ("town", truth("town-clock"))]
    for nth, (area, rows) in enumerate(batches):
        write(archive, nth, area, rows)
    return archive


def write(archive: Archive, batch: int, area: str, rows: Sequence[Row]) -> None:
    table, templates = table_of([frame(0, rows, area)])
    archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
    archive.write(table, batch_file(batch, 0, 0))


class Learner:
    """Runs, and what they proposed."""

    def __init__(
        self, archive: Archive | None, max_detections: int = 5_000_000, streams: Mapping[str, Stream] = STREAMS
    ) -> None:
        self.streams = streams
        path = None if archive is None else archive.path
        self.settings = HistorySettings(archive_path=path, max_detections=max_detections)
        self.proposed: list[TemplateProposal] = []
        self.shares: list[float] = []

    def run(self, folder: Path, is_cancelled: Callable[[], bool] = lambda: False, **asked: Any) -> dict[str, Any]:
        request = LearningRequest(**{"from_us": BEGIN_US, "to_us": END_US, "lo_s": -20.0, "hi_s": 20.0, **asked})
        self.reporter = Reporter(RunFolder(folder), request, is_cancelled, self.shares.append, every_s=0.0)
        past = replace(past_of(self.settings), topics=no_log)
        return LearningRun(request, past, self.streams, self.reporter, self.proposed.extend).execute()

    def lines(self) -> dict[str, dict[str, Any]]:
        text = (self.reporter.folder.path / "templates.ndjson").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        assert [faults("learnt-template", line) for line in lines] == [[]] * len(lines)
        return {line["sensor"]: line for line in lines}


@pytest.fixture
def learner(archive: Archive) -> Learner:
    return Learner(archive)


def mean_s(line: dict[str, Any]) -> float:
    return Histogram(**line["learnt"]["template"]).mean_s


def test_against_a_stream_that_is_right_every_delay_is_learnt(learner: Learner, tmp_path: Path) -> None:
    said = learner.run(tmp_path / "run", reference_stream="truth")
    assert (said["state"], faults("learning-run", said)) == ("done", [])
    lines = learner.lines()
    assert {*lines} == {*BAY, *TOWN}  # what is right is not learnt
    for sensor, (late_s, _, events) in (BAY | TOWN).items():
        assert lines[sensor]["errors"] == events
        assert mean_s(lines[sensor]) == pytest.approx(-late_s, abs=0.05 if sensor != "few" else 4)
    assert lines["few"]["learnt"]["pool"] == "stream"  # the archive knows no models
    assert said["detections"] == 4 * 300 + 312 + 2 * EVENTS
    assert (said["looked_at"], said["templates"]) == (6, 6)
    assert learner.shares == sorted(learner.shares)
    assert max(learner.shares) == 1


def test_what_is_proposed_does_better_and_is_what_the_lines_say(learner: Learner, tmp_path: Path) -> None:
    said = learner.run(tmp_path / "run", reference_stream="truth")
    lines = learner.lines()
    proposed = {each.sensor: each for each in learner.proposed}
    assert {*proposed} == {name for name, line in lines.items() if line["is_proposed"]}
    assert len(proposed) == len(learner.proposed) == said["proposed"]
    assert {"slow", "quick"} <= {*proposed}
    for sensor in ("a", "b", "c"):  # whose present template is the very truth, which 150 errors do not beat
        assert sensor not in proposed
    for sensor in ("slow", "quick"):
        each = proposed[sensor]
        assert each.score is not None
        assert each.present_score is not None
        assert each.score > each.present_score + 1
        assert json.loads(each.to_record()) == lines[sensor]["learnt"]


def test_from_what_the_others_say_a_delay_is_learnt_without_any_truth(learner: Learner, tmp_path: Path) -> None:
    said = learner.run(tmp_path / "run", area="bay", streams=("noise",))
    assert said["state"] == "done"
    lines = learner.lines()
    assert {*lines} == {*BAY}
    assert mean_s(lines["slow"]) == pytest.approx(-4, abs=0.1)
    assert [each.sensor for each in learner.proposed] == ["slow"]


@pytest.mark.parametrize("asked", [{"reference_stream": "truth"}, {"streams": ("noise",)}])
def test_reports_that_a_sensor_makes_again_teach_nothing(
    archive: Archive, tmp_path: Path, asked: dict[str, Any]
) -> None:
    """Each is made again 0.2 s later, that of the truth too, and the range begins between one and its echo."""
    from_us = (START_S + EVERY_S) * 10**6 + 1
    once = Learner(archive)
    once.run(tmp_path / "once", area="bay", **asked, from_us=from_us)
    for batch, rows in enumerate((reports(BAY, "noise", 1), truth("bay-clock")), 10):
        write(archive, batch, "bay", [replace(row, id=f"{row.id}+", at_s=row.at_s + 0.2) for row in rows])
    echoing = {name: replace(each, echo_s=0.5) for name, each in STREAMS.items()}
    learner = Learner(archive, streams=echoing)
    said = learner.run(tmp_path / "echoes", area="bay", **asked, from_us=from_us)
    assert faults("learning-run", said) == []
    assert said["echoes"] == sum(line["echoes"] for line in learner.lines().values()) >= 4 * (EVENTS - 2)
    assert told(learner.lines()) == told(once.lines())
    twice = Learner(archive)
    twice.run(tmp_path / "twice", area="bay", **asked, from_us=from_us)
    assert all(line["errors"] < EVENTS / 10 for line in twice.lines().values())  # nearly all are ambiguous


def told(lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What lines say but for the time at which, and the echoes."""
    return {
        sensor: {**line, "echoes": 0, "learnt": line["learnt"] and {**line["learnt"], "proposed_at_us": 0}}
        for sensor, line in lines.items()
    }


def test_each_learns_what_the_library_learns_from_its_errors(learner: Learner, tmp_path: Path) -> None:
    learner.run(tmp_path / "run", reference_stream="truth", lo_s=-10.0, hi_s=2.0, buckets=5)
    lines, within = learner.lines(), Window(lo_s=-10, hi_s=2)
    known_us = np.array([row.at_us for row in truth("clock")])
    for seed, sensors in ((1, BAY), (2, TOWN)):
        rows = reports(sensors, "noise", seed)
        for sensor in sensors.keys() - {"few"}:
            at_us = np.array([row.at_us for row in rows if row.sensor == sensor])
            of = SensorStream(sensor, "noise")
            [expected] = calibrate({of: errors_against(np.sort(at_us), known_us, within)}, Learning(within, 5))
            assert expected.learnt is not None
            assert lines[sensor]["learnt"]["template"] == expected.learnt.template.to_json()


def test_only_the_range_counts_and_its_end_does_not(learner: Learner, tmp_path: Path) -> None:
    end_us = (START_S + EVERY_S * 100) * 10**6
    said = learner.run(tmp_path / "run", area="bay", reference_stream="truth", to_us=end_us)
    reported = [row.at_us for row in (*reports(BAY, "noise", 1), *truth("bay-clock"))]
    assert said["detections"] == sum(BEGIN_US <= at_us < end_us for at_us in reported)
    assert end_us in reported
    assert {line["area"] for line in learner.lines().values()} == {"bay"}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8])
def test_who_cancels_is_proposed_nothing(learner: Learner, tmp_path: Path, share: float) -> None:
    said = learner.run(tmp_path / "run", lambda: max(learner.shares, default=0.0) >= share, area="bay")
    assert (said["state"], learner.proposed, faults("learning-run", said)) == ("cancelled", [], [])
    assert max(learner.shares, default=0.0) < share + 0.3


def test_who_cancels_at_the_very_end_is_proposed_nothing(learner: Learner, tmp_path: Path) -> None:
    said = learner.run(tmp_path / "run", (tmp_path / "run" / "templates.ndjson").exists, reference_stream="truth")
    assert (said["state"], learner.proposed) == ("cancelled", [])


def test_where_kafka_does_not_take_the_proposals_the_run_fails_and_has_its_lines(
    learner: Learner, tmp_path: Path
) -> None:
    class Away(list[TemplateProposal]):
        def extend(self, _proposals: object) -> None:
            raise LogError("not acknowledged")

    learner.proposed = Away()
    with pytest.raises(RunError, match="not acknowledged"):
        learner.run(tmp_path / "run", reference_stream="truth")
    said = learner.reporter.folder.summary()
    assert (said["state"], faults("learning-run", said)) == ("failed", [])
    assert {*learner.lines()} == {*BAY, *TOWN}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"reference_stream": "clock"}, "no detections of the reference_stream 'clock'"),
        ({"area": "hill"}, "the archive has no detections of this area and range"),
        ({"from_us": 0, "to_us": 1}, "the archive has no detections of this area and range"),
    ],
)
def test_what_teaches_nothing_is_a_sentence(
    learner: Learner, tmp_path: Path, asked: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(RunError, match=sentence):
        learner.run(tmp_path / "run", **asked)
    said = learner.reporter.folder.summary()
    assert (said["state"], learner.proposed, faults("learning-run", said)) == ("failed", [], [])


def test_more_detections_than_have_room_are_refused(archive: Archive, tmp_path: Path) -> None:
    learner = Learner(archive, max_detections=1000)
    with pytest.raises(RunError, match=r"more than 1000 detections \(max_detections\): choose a shorter range, or"):
        learner.run(tmp_path / "run")
    assert learner.run(tmp_path / "town", area="town")["state"] == "done"


def test_without_an_archive_it_says_so(tmp_path: Path) -> None:
    learner = Learner(None)
    with pytest.raises(RunError, match="learnt from the archive: the setting archive_path names none"):
        learner.run(tmp_path / "run")


def test_a_sensor_that_moved_is_learnt_in_one_area(learner: Learner, archive: Archive, tmp_path: Path) -> None:
    write(archive, 9, "hill", [Row("x", START_S + 30, ANY, "noise", "slow")])
    with pytest.raises(RunError, match="sensor 'slow' is in two areas in this range"):
        learner.run(tmp_path / "run", reference_stream="truth")
    assert learner.run(tmp_path / "bay", reference_stream="truth", area="bay")["state"] == "done"


def test_a_request_is_read_as_it_was_written() -> None:
    asked = LearningRequest(0, 10**6, -1.5, 2.0, "truth", "bay", ("noise", "tremor"), 5)
    assert request_in(json.loads(json.dumps(asked.to_json()))) == asked
    assert asked.id == request_in(asked.to_json()).id != LearningRequest(0, 10**6).id
    for wrong in ({}, {**asked.to_json(), "more": 1}, {**asked.to_json(), "streams": 7}):
        with pytest.raises(RunError, match="the request cannot be read"):
            request_in(wrong)
