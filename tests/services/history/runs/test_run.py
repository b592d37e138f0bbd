"""A run from request to folder, over an archive on disk: results, progress, cancel, bounds, and faults."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coincide import Stream
from coincide.chunks.key_ranges import KeyRange
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import Query
from deploy.host.machine import free_ports
from services.common.kafka.connection import KafkaConnection
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.archiving.merging import merge_folders
from services.history.replaying.complete_answer import complete_matches, reach_us
from services.history.replaying.request import RunError, RunRequest
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.rows.archive_rows import HashRows, Wanted
from services.history.runs.run import Run
from services.history.runs.run_service import usual_source
from spark_jobs.history import main, past_of, topics_of
from spark_jobs.settings import HistorySettings
from tests.coincide.fusion.inputs import put
from tests.coincide.fusion.outputs import status
from tests.services.history.replaying.test_answers import (
    PAIR,
    STREAMS,
    THREE,
    FakeTopic,
    frames_of,
    no_log,
    played,
    some_rows,
    table_of,
)
from tests.services.history.small_chunks import cut_small
from tests.test_contracts import faults

FRAMES = frames_of(some_rows(3, 300))
TWO_EDGES = {
    "id": "two-edges",
    "from": {"a": "p", "b": "s", "c": "p"},
    "within": [
        {"between": ["a", "b"], "window_s": 2, "threshold": 0.3},
        {"between": ["b", "c"], "window_s": 2, "threshold": 0.4},
    ],
}
RULED = {**PAIR, "id": "ruled", "coalesce": {"gap_s": 2}}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return filled(tmp_path / "archive")


def filled(path: Path) -> Archive:
    """Write an archive of three batches."""
    archive = Archive.opened(path, 3)
    for batch in range(3):
        table, templates = table_of(FRAMES[batch::3])
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    return archive


def run_of(
    archive: Archive,
    query: dict[str, Any] = RULED,
    cancelled: bool = False,
    streams: Mapping[str, Stream] = STREAMS,
    **more: Any,
) -> Run:
    bounds = ("max_detections", "max_matches", "max_counted", "processes")
    limits = {"processes": 1} | {name: more.pop(name) for name in bounds if name in more}
    settings = HistorySettings(archive_path=archive.path, runs_path=archive.path.parent / "runs", **limits)
    request = RunRequest(**{"query": Query.from_json(query), "from_us": 0, "to_us": 61_000_000, **more})
    reporter = Reporter(RunFolder(settings.runs_path / request.id), request, lambda: cancelled, every_s=0.0)
    return Run(request, replace(past_of(settings), topics=no_log), streams, reporter)


def written(run: Run) -> list[dict[str, Any]]:
    lines = (run.reporter.folder.path / "matches.ndjson").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("query", [RULED, THREE, {**THREE, "id": "two", "at_least": 2}])
def test_a_run_writes_the_matches_of_the_range_and_says_so(archive: Archive, query: dict[str, Any]) -> None:
    run = run_of(archive, query)
    summary = run.execute()
    expected = {match.id for match in complete_matches(played(query, FRAMES), STREAMS, lambda: None)}
    matches = written(run)
    assert {match["id"] for match in matches} == expected
    assert summary["matches"] == len(matches) == len(expected) > 20
    assert run.reporter.folder.summary() == summary
    assert faults("history-run", summary) == []
    assert [faults("matches", match) for match in matches] == [[]] * len(matches)
    [own] = [point for point in summary["curve"] if point["threshold"] == summary["own_threshold"]]
    assert own["matches"] == len(matches)


LOUD = {"stream": "p", "where": {"attributes.db": {"above": 5}}}
OF_NUMBERS = {**PAIR, "id": "numbers", "from": {"a": LOUD, "b": {**LOUD, "sensors": ["p-1", "p-2"]}}}


def frames_with_words() -> list[InputRecord]:
    """Every third detection says a word where the query needs a number."""
    rows = some_rows(3, 300)
    rows[::3] = [replace(row, attributes=(("db", "loud"), *row.attributes[1:])) for row in rows[::3]]
    return frames_of(rows)


def counted_live(query: dict[str, Any], frames: Sequence[InputRecord]) -> int:
    output = FusionCore(STREAMS, Limits(), 0).push([put(0, query), *frames])
    return int(status(output)["totals"]["no_number"])


def test_a_value_that_is_no_number_is_counted_once_whoever_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both roles need it, every chunk near it sees it, and it was posted again."""
    archive, frames = Archive.opened(tmp_path / "words", 3), frames_with_words()
    for batch, some in enumerate((frames, frames[5:20])):
        table, templates = table_of([each._replace(offset=each.offset + 1_000 * batch) for each in some])
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    cut_small(monkeypatch, archive.files())
    run = run_of(archive, OF_NUMBERS)
    assert len([keys for each in range(3) for keys in chunks_of(archive, run.request, each)]) > 8
    summary = run.execute()
    assert summary["no_number"] == counted_live(OF_NUMBERS, frames) > 30
    assert faults("history-run", summary) == []


class WholeTopic(FakeTopic):
    """Frames that were all received at once."""

    def first_offsets(self) -> dict[int, int]:
        return {0: 0, 1: 0}

    def end_offsets(self) -> dict[int, int]:
        return {0: 999, 1: 999}

    def offsets_at(self, _us: int) -> dict[int, int]:
        return self.end_offsets()


def test_a_run_as_live_counts_values_that_are_no_number(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = WholeTopic(frames_with_words(), 1)
    monkeypatch.setattr("services.history.runs.live_answer.present_streams", lambda *_: STREAMS)
    as_live = run_of(archive, OF_NUMBERS, source="topic", as_live=True)
    opened: Any = lambda _name: nullcontext(topic)  # noqa: E731
    past = replace(as_live.past, topics=opened)
    summary = replace(as_live, past=past).execute()
    assert summary["no_number"] == counted_live(OF_NUMBERS, frames_with_words()) > 30
    assert faults("history-run", summary) == []


def test_a_part_of_the_range_has_the_matches_within(archive: Archive) -> None:
    whole, part = run_of(archive), run_of(archive, from_us=20_000_000, to_us=40_000_000)
    whole.execute()
    assert part.execute()["state"] == "done"
    within = {
        match["id"]
        for match in written(whole)
        if all(20_000_000 <= member["detected_at_us"] < 40_000_000 for member in match["members"])
    }
    assert {match["id"] for match in written(part)} == within
    assert within


def test_a_lower_threshold_lengthens_the_curve_and_changes_no_match(archive: Archive) -> None:
    plain, lower = run_of(archive), run_of(archive, min_threshold=0.1)
    plain.execute()
    summary = lower.execute()
    assert written(lower) == written(plain)
    assert summary["curve"][0]["threshold"] == 0.1
    assert summary["curve"][0]["matches"] > summary["matches"]


SETS = {**THREE, "id": "two", "at_least": 2}
SAME = {
    "id": "self",
    "from": {"a": "p", "b": "p"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.3}],
    "coalesce": {"gap_s": 1, "by": ["a.sensor"]},
}


@pytest.mark.parametrize("query", [RULED, SAME, THREE, SETS, TWO_EDGES], ids=lambda query: str(query["id"]))
def test_cut_into_small_chunks_it_says_the_same(
    archive: Archive, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The days are merged, some detections were posted again, and the range ends amid them."""
    table, _ = table_of([each._replace(offset=each.offset + 10_000) for each in FRAMES[2:9]])
    archive.write(table, batch_file(7, 0, 0))
    run = run_of(archive, query, to_us=55_000_000, min_threshold=None if query is TWO_EDGES else 0.05)
    whole, matches = run.execute(), sorted(map(str, written(run)))
    assert merge_folders(archive, 9, "2000-01-01", merge_from=1) > 0
    cut_small(monkeypatch, archive.path.glob("detections/*/*/*.parquet"))
    ranges = [keys for each in range(3) for keys in chunks_of(archive, run.request, each)]
    again = run.execute()
    assert sorted(map(str, written(run))) == matches
    assert told(again) == told(whole)
    assert len(ranges) > 8


@pytest.mark.parametrize("query", [RULED, SETS], ids=lambda query: str(query["id"]))
def test_days_see_each_others_rows_and_give_each_match_once(
    archive: Archive, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_of(archive, query)
    expected, matches = whole.execute(), sorted(map(str, written(whole)))
    for module in ("folders", "layout"):  # a match may reach over the next day but one
        monkeypatch.setattr(f"services.history.archiving.{module}.DAY_US", 7_000_000)
    monkeypatch.setattr("services.history.replaying.complete_run.CHUNK_ROWS", 15)
    by_days = run_of(filled(archive.path.with_name("by-days")), query)
    assert told(by_days.execute()) == told(expected)
    assert sorted(map(str, written(by_days))) == matches
    assert len(list(by_days.past.settings.archive_path.glob("detections/day=*"))) == 9  # type: ignore[union-attr]


def told(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if not name.endswith("_at_us")}


def chunks_of(archive: Archive, request: RunRequest, area_hash: int) -> Sequence[KeyRange]:
    query: Any = request.query
    wanted = Wanted(frozenset(query.streams), request.from_us, request.to_us, 10**6)
    reach = partial(reach_us, query)
    return HashRows(archive, area_hash, wanted).cut(reach, 15, looks_back=query.at_least is not None)


def test_the_curve_of_sets_has_a_few_points_each_a_run_of_its_own(archive: Archive) -> None:
    summary = run_of(archive, SETS, min_threshold=0.05).execute()
    thresholds = [point["threshold"] for point in summary["curve"]]
    assert (thresholds[0], len(thresholds), "each a join of its own" in summary["curve_of"]) == (0.05, 8, True)
    for point in (summary["curve"][0], summary["curve"][4]):
        again = run_of(archive, {**SETS, "joint_threshold": point["threshold"]}).execute()
        [own] = again["curve"]
        assert again["matches"] == own["matches"]
        assert [own[name] for name in ("threshold", "matches", "episodes")] == [
            point[name] for name in ("threshold", "matches", "episodes")
        ]
        assert own["chance"] == pytest.approx(point["chance"], abs=5 * (own["chance_error"] + point["chance_error"]))


def test_several_processes_say_what_one_says(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(archive, min_threshold=0.1, processes=2)
    alone, matches = run.execute(), (run.reporter.folder.path / "matches.ndjson").read_bytes()
    monkeypatch.setattr("services.history.replaying.staff.ALONE_S", -1.0)
    assert told(run.execute()) == told(alone)
    assert (run.reporter.folder.path / "matches.ndjson").read_bytes() == matches
    refused = run_of(archive, min_threshold=0.1, processes=2, max_counted=10)
    with pytest.raises(RunError, match="matches to be counted"):
        refused.execute()


def test_a_run_that_counts_only_says_the_same_and_writes_no_match(archive: Archive) -> None:
    whole, counted = run_of(archive).execute(), run_of(archive, keeps_matches=False)
    assert {name: value for name, value in counted.execute().items() if name in {"matches", "curve", "histogram"}} == {
        name: whole[name] for name in ("matches", "curve", "histogram")
    }
    assert [path.name for path in counted.reporter.folder.path.iterdir()] == ["summary.json"]


def test_files_that_are_merged_meanwhile_are_read_again(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, read, merged = told(run_of(archive).execute()), HashRows.read, list[int]()

    def read_late(chunks: HashRows, keys: KeyRange) -> Any:
        if not merged:
            merged.append(merge_folders(archive, 3, "2000-01-01", merge_from=1))
        return read(chunks, keys)

    monkeypatch.setattr(HashRows, "read", read_late)
    assert told(run_of(archive).execute()) == expected
    assert merged[0] > 0


def test_progress_is_told_and_a_run_can_be_cancelled(archive: Archive) -> None:
    run = run_of(archive, cancelled=True)
    assert run.execute()["state"] == "cancelled"
    assert faults("history-run", run.reporter.folder.summary()) == []
    assert not (run.reporter.folder.path / "matches.ndjson").exists()
    shares: list[float] = []
    going = run_of(archive)
    going.reporter.show = shares.append
    going.execute()
    assert shares == sorted(shares)
    assert len(shares) > 3


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"max_detections": 100}, r"more than 100 \(max_detections\)"),
        ({"max_counted": 10}, r"more than 10 matches to be counted"),
        ({"max_matches": 10}, "more than 10 matches"),
        ({"source": "topic"}, "nothing listens"),
        ({"query": {**PAIR, "from": {"a": "p", "b": "unheard"}}}, "stream 'unheard', which is not declared"),
        ({"query": TWO_EDGES, "min_threshold": 0.01}, "no single threshold"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_stands_in_the_summary(
    archive: Archive, more: dict[str, Any], sentence: str
) -> None:
    run = run_of(archive, **more)
    if more.get("source"):
        nowhere = topics_of(HistorySettings(kafka=KafkaConnection(servers="127.0.0.1:1")))
        run = replace(run, past=replace(run.past, topics=nowhere))
    with pytest.raises(RunError, match=sentence) as refusal:
        run.execute()
    summary = run.reporter.folder.summary()
    assert (summary["state"], summary["error"]) == ("failed", str(refusal.value))
    assert faults("history-run", summary) == []


def test_the_command_runs_and_compares(
    archive: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = {name: {"max_delay_s": 9, "longest_template_s": 8} for name in STREAMS}
    (tmp_path / "streams.yaml").write_text(json.dumps({"streams": streams}))
    (tmp_path / "ruled.json").write_text(json.dumps({name: each for name, each in RULED.items() if name != "id"}))
    monkeypatch.setenv("COINCIDE_HISTORY_STREAMS_PATH", str(tmp_path / "streams.yaml"))
    monkeypatch.setenv("COINCIDE_HISTORY_RUNS_PATH", str(tmp_path / "runs"))
    asked = ["run", "--query", str(tmp_path / "ruled.json"), "--archive", str(archive.path), "--from", "0"]
    said = []
    for to in ("60000000", "1970-01-01T00:00:30Z"):
        assert main([*asked, "--to", to]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0]["matches"] > said[1]["matches"] > 0
    assert main(["compare", said[1]["run"], said[0]["folder"]]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    gone = said[0]["matches"] - said[1]["matches"]
    assert counts == {"added": 0, "gone": gone, "changed": 0, "same": said[1]["matches"]}
    assert main([*asked, "--to", "9", "--as-live", "--master", "local[2]"]) == 1
    assert "--master is for complete runs" in capsys.readouterr().err
    assert main([*asked, "--to", "noon"]) == 1
    assert capsys.readouterr().err.startswith("history: 'noon' is no time")
    assert main(["compare", "r-none", said[0]["run"]]) == 1
    assert "there is no run in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("has_archive", "as_live", "source"), [(True, False, "archive"), (True, True, "topic"), (False, False, "topic")]
)
def test_who_names_no_source_gets_one_that_can_tell(has_archive: bool, as_live: bool, source: str) -> None:
    assert usual_source(Path("archive") if has_archive else None, as_live=as_live) == source


def test_as_live_alone_asks_kafka(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COINCIDE_HISTORY_RUNS_PATH", str(archive.path / "runs"))
    monkeypatch.setenv("COINCIDE_KAFKA_SERVERS", f"127.0.0.1:{free_ports(1)[0]}")
    monkeypatch.setenv("COINCIDE_HISTORY_KAFKA_TIMEOUT_S", "0.5")
    query = archive.path / "ruled.json"
    query.write_text(json.dumps(RULED))
    span = ["--from", "0", "--to", "60000000", "--archive", str(archive.path)]
    assert main(["run", "--query", str(query), *span, "--as-live"]) == 1
    assert "Kafka" in capsys.readouterr().err
