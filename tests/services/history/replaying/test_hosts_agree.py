"""Laws of the hosts: the fusion job, runs over history and `coincide replay` give the same answer to the same log."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import json as msgspec_json

from coincide import Stream
from coincide.arrays.instants import written_us
from coincide.command.main import main
from coincide.command.playback import replay as replaying
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord, Output
from services.history.replaying.complete_answer import complete_matches
from services.history.runs.live_answer import QueryChangeAt, replayed
from tests.coincide.command.files import EPOCH_US, read, text, write
from tests.coincide.command.playback.test_replay import NAMED, asked, replay, saved
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put
from tests.coincide.fusion.outputs import EpisodeReader
from tests.coincide.fusion.strategies import TEMPLATES, split
from tests.examples import examples
from tests.services.history.replaying.test_answers import ADVISORY, FakeTopic, played

Match = tuple[Any, ...]
DELAY_S, PATIENT_S = 3.0, 1e6
AREAS = {"bay": 0, "hill": 1}  # and their partitions
FOLLOWED = {"gap_s": 1}
PAIR = {
    "id": "pair",
    "from": {"a": "p", "b": "s"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.3}],
    "sensors": "any",
    "coalesce": FOLLOWED,
}
SETS = {
    "id": "sets",
    "from": {"a": "p", "b": "p", "c": "s"},
    "form": "clique",
    "within": [{"window_s": 3}],
    "joint_threshold": 0.07,
    "at_least": 2,
    "sensors": "any",
    "coalesce": FOLLOWED,
}
QUERIES: list[dict[str, Any]] = [PAIR, SETS]
FEW = {**PAIR, "id": "few", "limits": {"max_matches_per_detection": 1}}
LIMITED = [*QUERIES, FEW]  # a complete run knows no limits


class Frame(NamedTuple):
    """A frame of the log: its detections, and when it came; one that is posted again has the same detections."""

    area: str
    received_tenths: int
    detections: tuple["Heard", ...]

    @property
    def received_at_s(self) -> float:
        return EPOCH_US / 1e6 + self.received_tenths / 10


class Heard(NamedTuple):
    """A detection of the log."""

    id: str
    stream: str
    sensor: str
    tenths: int
    template: int

    @property
    def row(self) -> Row:
        at_s = EPOCH_US / 1e6 + self.tenths / 10
        return Row(self.id, at_s, TEMPLATES[self.template], self.stream, self.sensor)

    def line(self, of: Frame) -> dict[str, Any]:
        """Return the detection as a file has it."""
        return {
            "id": self.id,
            "stream": self.stream,
            "sensor": self.sensor,
            "area": of.area,
            "detected_at_us": self.row.at_us,
            "received_at_us": EPOCH_US + of.received_tenths * 100_000,
            "template": f"t{self.template}",
        }


@st.composite
def logs(draw: st.DrawFn, *, may_reuse: bool = True) -> list[Frame]:
    """Frames of a minute, some posted again; some clocks are ahead, some detections late, and some ids used anew."""
    made: list[Frame] = []
    now, count = 0, 0
    for _ in range(draw(st.integers(2, 9))):
        now += draw(st.sampled_from([0, 4, 15, 40]))
        if made and draw(st.integers(0, 3)) == 0:
            made.append(draw(st.sampled_from(made))._replace(received_tenths=now))
            continue
        heard = []
        for _ in range(draw(st.integers(1, 4))):
            ago = draw(st.sampled_from([0, 3, 8, 20, 45, -30]))
            kind = draw(st.sampled_from("pps")), draw(st.sampled_from(["north", "south", "east"]))
            nth = draw(st.integers(0, count)) if may_reuse and draw(st.integers(0, 3)) == 0 else count
            heard.append(Heard(f"e{nth}", *kind, now - ago, draw(st.integers(0, len(TEMPLATES) - 1))))
            count += 1
        made.append(Frame(draw(st.sampled_from([*AREAS])), now, tuple(heard)))
    return made


def records_of(log: Sequence[Frame]) -> list[InputRecord]:
    """Return the log as the topic has it, a heartbeat of each partition after each frame."""
    records = []
    for nth, each in enumerate(log):
        rows = [heard.row for heard in each.detections]
        records.append(frame(3 * nth, rows, each.area, AREAS[each.area], each.received_at_s))
        records += [heartbeat(3 * nth + 1, each.received_at_s, partition) for partition in AREAS.values()]
    return records


def core(delay_s: float = DELAY_S, quiet_s: float | None = 2.0) -> FusionCore:
    streams = {name: Stream(name, max_delay_s=delay_s, longest_template_s=8) for name in "ps"}
    limits = Limits(quiet_s=quiet_s, sweep_after=1, max_advisory_work=10**9, max_advisory_work_of_frame=10**9)
    return FusionCore(streams, limits, 0)


CHANGES = [put(nth, query) for nth, query in enumerate(LIMITED)]


def live(fusion: FusionCore, batches: Sequence[Sequence[InputRecord]]) -> list[Output]:
    return [fusion.push(CHANGES), *(fusion.push(list(each)) for each in batches)]


def matches_of(outputs: Sequence[Output]) -> list[bytes]:
    return sorted(record.value for output in outputs for record in output.matches)


def episodes_of(outputs: Sequence[Output]) -> dict[str, Any]:
    """Return the episodes that stand; which others were told, and taken back, depends on the batches."""
    reader = EpisodeReader()
    for output in outputs:
        reader.read(output)
    return reader.current


def standing(outputs: Sequence[Output]) -> dict[str, dict[str, Any]]:
    """Return the matches by id that no larger one has superseded, without what only one who watched can say."""
    found = [msgspec_json.decode(value) for value in matches_of(outputs)]
    gone = {id_ for match in found for id_ in match.get("supersedes", ())}
    told = {match["id"]: {name: value for name, value in match.items() if name not in ADVISORY} for match in found}
    return {id_: match for id_, match in told.items() if id_ not in gone}


@settings(max_examples=examples(60))
@given(log=logs(), data=st.data(), seed=st.integers(0, 99))
def test_a_run_as_live_is_the_job_whatever_the_batches(log: list[Frame], data: st.DataObject, seed: int) -> None:
    records = records_of(log)
    job = live(core(), split(data.draw, records, data.draw(st.integers(1, 5))))
    topic: Any = FakeTopic(records, seed)
    changes = [QueryChangeAt(change, {}) for change in CHANGES]
    ends = dict.fromkeys(AREAS.values(), 3 * len(log))
    run = [output for output, _ in replayed(core(), topic, changes, dict.fromkeys(ends, 0), ends, lambda: None)]
    assert matches_of(run) == matches_of(job)
    assert episodes_of(run) == episodes_of(job)


@settings(max_examples=examples(60))
@given(log=logs(may_reuse=False), data=st.data())
def test_a_complete_run_is_the_job_that_waits_for_everybody(log: list[Frame], data: st.DataObject) -> None:
    """Nobody is late there, and silence moves nothing."""
    records = records_of(log)
    patient = core(PATIENT_S, quiet_s=None)
    told = standing(live(patient, split(data.draw, records, data.draw(st.integers(1, 5)))))
    expected = {id_: match for id_, match in told.items() if match["query"] != "few"}
    frames = [record for record in records if record.key is not None]
    streams = {name: Stream(name, max_delay_s=PATIENT_S, longest_template_s=8) for name in "ps"}
    run = [match for query in QUERIES for match in complete_matches(played(query, frames), streams, lambda: None)]
    found = {match.id: msgspec_json.decode(msgspec_json.encode(match)) for match in run}
    assert {id_: {k: v for k, v in match.items() if k not in ADVISORY} for id_, match in found.items()} == expected


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=logs(), data=st.data(), at_once=st.sampled_from([1, 3, 1000]))
def test_replay_is_the_job_that_hears_no_heartbeat(
    tmp_path: Path, log: list[Frame], data: st.DataObject, at_once: int
) -> None:
    """A file has no heartbeats. Repeats, late detections, ids used anew and limits are those of the job."""
    outputs = live(core(quiet_s=None), split(data.draw, records_of(log), data.draw(st.integers(1, 5))))
    expected = {match_of(match["query"], match["members"]) for match in standing(outputs).values()}
    file = write(tmp_path / "log.ndjson", [heard.line(each) for each in log for heard in each.detections])
    options = ["--templates", text(tmp_path / "named", json.dumps(NAMED)), "--max-delay", str(DELAY_S)]
    out = tmp_path / "out.ndjson"
    with patch.object(replaying, "ROWS_AT_ONCE", at_once):
        status = main(["replay", *asked(*saved(tmp_path, *LIMITED)), str(file), *map(str, options), "--out", str(out)])
    assert status == any(suspended(outputs[-1]).values())
    assert standing_lines(read(out)) == expected


def suspended(output: Output) -> dict[str, Any]:
    """Return where each query is suspended."""
    queries = msgspec_json.decode(output.status.value)["queries"]
    return {name: query.get("suspended") for name, query in queries.items()}


def standing_lines(lines: Sequence[dict[str, Any]]) -> set[Match]:
    """Return what no later line of a replay says is superseded."""
    found: set[Match] = set()
    for line in lines:
        change = found.remove if line["change"] == "superseded" else found.add
        change(match_of(line["query"], line["members"]))
    return found


def match_of(query: str, members: Sequence[dict[str, Any]]) -> Match:
    """Return what names a match: its query, and its members' role, sensor, id and time."""
    told = [each.get("detected_at_us") or written_us(each["detected_at"]) for each in members]
    return query, *((each["role"], each["sensor"], each["id"], at) for each, at in zip(members, told, strict=True))


def test_a_repeat_that_tells_how_far_time_has_come_makes_others_late_in_a_replay_too(tmp_path: Path) -> None:
    """The clock of the first is ahead: only its repeat, which came later, lets its area's time reach it."""
    ahead = Heard("e0", "p", "north", 100, 0)
    log = [
        Frame("bay", 0, (ahead,)),
        Frame("bay", 100, (ahead,)),
        Frame("bay", 101, (Heard("e1", "p", "north", 20, 0), Heard("e2", "s", "south", 20, 0))),
    ]
    assert standing(live(core(quiet_s=None), [records_of(log)])) == {}
    file = write(tmp_path / "log.ndjson", [heard.line(each) for each in log for heard in each.detections])
    options = ["--templates", text(tmp_path / "named", json.dumps(NAMED)), "--max-delay", DELAY_S]
    assert replay(saved(tmp_path, PAIR), file, *options, out=tmp_path / "out.ndjson") == []


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query["id"]))
def test_sensors_of_two_areas_may_have_one_name_and_count_alike(tmp_path: Path, query: dict[str, Any]) -> None:
    heard = (Heard("e0", "p", "north", 10, 0), Heard("e1", "s", "south", 10, 0))
    log = [Frame("bay", 20, heard), Frame("hill", 20, tuple(each._replace(tenths=15) for each in heard))]
    found = standing(live(core(quiet_s=None), [records_of(log)]))
    job = [match for match in found.values() if match["query"] == query["id"]]
    file = write(tmp_path / "log.ndjson", [each.line(of) for of in log for each in of.detections])
    options = ["--templates", text(tmp_path / "named", json.dumps(NAMED)), "--max-delay", DELAY_S]
    lines = replay(saved(tmp_path, query), file, *options, out=tmp_path / "out.ndjson")
    assert len(lines) == len(job) == 2
