"""Complete runs of queries over readings: what the core says if nobody is late, wherever the archive is cut."""

import json
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Stream
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import query_from_json
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.archiving.layout import DAY_US
from services.history.replaying.request import RunError, RunRequest
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.rows.archive_rows import HashRows, Wanted
from services.history.runs.run import Run
from spark_jobs.history import past_of
from spark_jobs.settings import HistorySettings
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.coincide.fusion.outputs import EpisodeReader
from tests.services.history.replaying.test_answers import no_log, table_of
from tests.services.history.small_chunks import cut_small
from tests.test_contracts import faults

STREAMS = {
    "temperature": Stream("temperature", max_delay_s=1e6, longest_template_s=60),
    "tick": Stream("tick", max_delay_s=1e6),
}
TEMPLATES = (Histogram.point(), Histogram.uniform(-20, -5), Histogram.uniform(-1, 4))
BEGIN_S = 2 * 86_400 - 1_500  # amid the range a day ends
AREAS = ("bay", "hill", "moor")
COALESCE = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 40}}
HOT = {"id": "hot", "coalesce": {**COALESCE, "hold_s": 40}, "lasting_s": 60}
BY_REGION = {
    "id": "region",
    "coalesce": {**COALESCE, "by": "attributes.region", "hold_s": 20, "equivalence": {"bounded": 3}},
    "lasting_s": 30,
    "threshold": 0.8,
}
WINDOW = {"time_s": 300, "slide_s": 60}
LONGEST = {"id": "longest", "coalesce": {**COALESCE, "hold_s": 30, "window": WINDOW}, "longest": True}
LASTING = {"id": "lasting", "coalesce": {**COALESCE, "by": [], "hold_s": 30, "window": WINDOW}, "lasting_s": 60}
QUERIES = (HOT, BY_REGION, LONGEST, LASTING)


def frames() -> list[InputRecord]:
    """Readings of three areas, which come in any order, with some that are no numbers, and some at one instant."""
    rng, found = np.random.default_rng(7), []
    for area in AREAS:
        at_s = np.sort(BEGIN_S + rng.integers(0, 3_000, 400))
        values = 41 + np.cumsum(rng.normal(0, 1.5, 400)).round(1)
        rows = [
            Row(
                f"{area}-{nth}",
                float(when),
                TEMPLATES[int(rng.integers(3))],
                "temperature",
                f"s-{rng.integers(2)}",
                (("celsius", "broken" if nth % 50 == 9 else float(value)), ("region", int(rng.integers(2)))),
            )
            for nth, (when, value) in enumerate(zip(at_s, values, strict=True))
        ]
        order = rng.permutation(len(rows)).tolist()
        found += [(area, [rows[at] for at in order[first : first + 9]]) for first in range(0, len(rows), 9)]
    return [frame(nth, found[at][1], found[at][0], 0, 1e6 + nth) for nth, at in enumerate(rng.permutation(len(found)))]


FRAMES = frames()


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    archive = Archive.opened(tmp_path / "archive", 2)
    for batch in range(3):
        table, templates = table_of([*FRAMES[batch::3], *FRAMES[:5]])  # some were posted again
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    return archive


def run_of(archive: Archive, query: dict[str, Any], streams: Mapping[str, Stream] = STREAMS, **more: Any) -> Run:
    settings = HistorySettings(archive_path=archive.path, runs_path=archive.path.parent / "runs", processes=1)
    limited = settings.model_copy(update={name: more.pop(name) for name in ("max_matches",) if name in more})
    request = RunRequest(query_from_json(query), 0, 4 * DAY_US, **more)
    reporter = Reporter(RunFolder(settings.runs_path / request.id), request, lambda: False, every_s=0.0)
    return Run(request, replace(past_of(limited), topics=no_log), streams, reporter)


def wanted() -> Wanted:
    return Wanted(frozenset({"temperature"}), 0, 4 * DAY_US, 10**6)


def written(run: Run) -> dict[str, dict[str, Any]]:
    lines = (run.reporter.folder.path / "episodes.ndjson").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    by_id = {record["id"]: record for record in records}
    assert len(by_id) == len(records)
    return by_id


def core_says(query: dict[str, Any], streams: Mapping[str, Stream] = STREAMS) -> dict[str, dict[str, Any]]:
    """Return the final records of the fusion core, for which nobody was late; then its time is moved far on."""
    core, reader = started(put(0, query), streams=streams), EpisodeReader()
    later = [Row("last", BEGIN_S + 9e6, stream="tick", sensor="clock")]
    ticks = [frame(len(FRAMES) + nth, later, area, 0, 1e8) for nth, area in enumerate(AREAS)]
    for record in [*FRAMES, *ticks]:
        reader.read(core.push([record]))
    assert all(record["final"] for record in reader.current.values())
    return reader.current


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query["id"]))
def test_complete_is_what_the_core_says_if_nobody_is_late(
    archive: Archive, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = core_says(query)
    whole, cut = run_of(archive, query), run_of(archive, query)
    summary = whole.execute()
    assert written(whole) == expected
    assert summary["episodes"] == len(expected) > 10
    assert (summary["detections"], summary["matches"], summary["no_number"]) == (1_200, 0, 24)
    assert faults("history-run", summary) == []
    cut_small(monkeypatch, archive.files(), 40, 20)
    assert len(HashRows(archive, 0, wanted()).cut(lambda _: 0, 40, looks_back=False)) > 10
    again = cut.execute()
    assert written(cut) == expected
    assert {**again, "started_at_us": 0, "told_at_us": 0} == {**summary, "started_at_us": 0, "told_at_us": 0}


def test_a_lower_threshold_tells_how_many_more_spells_there_would_be(archive: Archive) -> None:
    summary = run_of(archive, BY_REGION, min_threshold=0.1, keeps_matches=False).execute()
    assert summary["own_threshold"] == 0.8
    counts = {point["threshold"]: point["episodes"] for point in summary["curve"]}
    for threshold in (0.1, 0.8):
        assert counts[threshold] == len(core_says({**BY_REGION, "threshold": threshold}))
    assert counts[0.1] > counts[0.8] == summary["episodes"]


def test_what_cannot_be_told_is_a_sentence(archive: Archive) -> None:
    with pytest.raises(RunError, match="query longest says something of every window: it has no threshold"):
        run_of(archive, LONGEST, min_threshold=0.5)
    with pytest.raises(RunError, match=r"more than 3 episodes \(max_matches\)"):
        run_of(archive, HOT, max_matches=3).execute()


def test_windows_without_number_are_refused_before_they_are_made(archive: Archive) -> None:
    """Three areas of 400 readings in 10,000 windows each, for every two groups: tens of millions of rows."""
    window = {"time_s": 300, "slide_s": 0.033}
    alike = {**COALESCE, "by": "attributes.region", "hold_s": 30, "window": window, "equivalence": {"quantised": 50}}
    query = {"id": "alike", "coalesce": alike, "join": {"within": 100, "lasting_s": 0.1}}
    tracemalloc.start(1)
    try:
        with pytest.raises(RunError, match=r"more than 1000 episodes \(max_matches\)"):
            run_of(archive, query, max_matches=1_000).execute()
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
