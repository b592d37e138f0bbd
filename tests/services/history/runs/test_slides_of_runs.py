"""A complete run that counts chance by time slides: as the library does in each area, beside the formula."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coincide.slides import time_slides
from services.history.archiving.folders import Archive
from services.history.replaying.complete_run import CompleteRun
from services.history.replaying.expected_by_chance import SlidesTask
from services.history.replaying.request import RunError, RunRequest, request_in
from services.history.replaying.run_folder import CancelledError
from services.history.rows.archive_rows import HashRows, Wanted
from services.history.runs.run import Run
from tests.coincide.fusion.inputs import frame
from tests.services.history.replaying.test_answers import PAIR, THREE, played, some_rows
from tests.services.history.runs.test_run import filled, run_of
from tests.test_contracts import faults

SLIDES, TO_US = 10, 6_100_000_000
FRAMES = [
    frame(nth, [replace(row, at_s=100 * row.at_s) for row in some_rows(nth, 600)], f"area-{nth}", 0, 1e9)
    for nth in range(2)
]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Two areas in which sensors report at random for 6,000 s."""
    monkeypatch.setattr("tests.services.history.runs.test_run.FRAMES", FRAMES)
    return filled(tmp_path / "archive")


slid_run = partial(run_of, to_us=TO_US, slides=SLIDES, processes=1)


@pytest.mark.parametrize("query", [PAIR, {**THREE, "id": "two", "at_least": 2}, {**PAIR, "equal": "attributes.object"}])
def test_it_counts_what_the_library_does_in_each_area(archive: Archive, query: dict[str, Any]) -> None:
    run = slid_run(archive, query, keeps_matches=False)
    summary = run.execute()
    assert faults("history-run", summary) == []
    asked = run.request.query
    assert asked.kind == "join"
    expected = 0.0
    for area in FRAMES:
        rows = played(query, [area])
        found = time_slides(
            rows.batches,
            asked.graph,
            rows.keys,
            asked.joint_threshold,
            None,
            asked.sensors,
            at_least=asked.at_least,
            slides=SLIDES,
        )
        expected += found.expected
    slides = summary["slides"]
    assert slides["chance"] == pytest.approx(expected, rel=1e-5)
    assert slides["chance"] > 10
    assert (slides["slides"], slides["areas"], slides["matches"]) == (SLIDES, 2, summary["matches"])
    assert slides["recorded_s"] == pytest.approx(12_000, rel=0.01)


def test_where_all_is_chance_the_interval_has_the_formula(archive: Archive) -> None:
    summary = slid_run(archive).execute()
    [own] = [point["chance"] for point in summary["curve"] if point["threshold"] == summary["own_threshold"]]
    low, high = (each * 6_000 / 86_400 for each in summary["slides"]["interval_per_day"])
    assert low < own < high
    assert high - low < own / 2


def test_without_slides_a_run_is_what_it_was(archive: Archive) -> None:
    run = run_of(archive, to_us=TO_US, processes=1)
    assert "slides" not in run.request.to_json()
    assert {"slides", "slides_unknown"}.isdisjoint(run.execute())


def test_who_asks_for_slides_finds_the_run_again(archive: Archive) -> None:
    request = slid_run(archive).request
    assert request_in(json.loads(json.dumps(request.to_json()))) == request
    assert request.id != replace(request, slides=None).id


def test_too_short_a_time_is_said_and_the_run_stands(archive: Archive) -> None:
    wide = {**PAIR, "id": "wide", "within": [{"between": ["a", "b"], "window_s": 600, "threshold": 0.4}]}
    summary = slid_run(archive, wide, to_us=1_000_000_000).execute()
    assert summary["state"] == "done"
    assert summary["slides"] is None
    assert "recorded time" in summary["slides_unknown"]
    assert faults("history-run", summary) == []


def test_nothing_to_shift_is_said(archive: Archive) -> None:
    summary = slid_run(archive, from_us=TO_US, to_us=TO_US + 1).execute()
    assert "no area" in summary["slides_unknown"]


def test_matches_of_slides_are_bounded(archive: Archive) -> None:
    matches = run_of(archive, to_us=TO_US, processes=1).execute()["matches"]
    summary = slid_run(archive, max_counted=matches + 1).execute()
    assert "most_matches" in summary["slides_unknown"]


def test_rows_of_an_area_have_to_fit_in_memory(archive: Archive) -> None:
    request = slid_run(archive).request
    assert request.query.kind == "join"
    wanted = Wanted(frozenset("ps"), 0, TO_US, 100)
    hashes = [HashRows(archive, nth, wanted) for nth in range(archive.area_hashes)]
    answers = [SlidesTask(rows, request.query, 2, 10**6).answer(lambda: None) for rows in hashes]
    assert any("max_detections" in (each.unknown or "") for each in answers)


def test_it_is_cancelled_in_the_midst_of_slides(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    run, begun = slid_run(archive), list[float]()
    slid = CompleteRun._slid

    def noted(self: CompleteRun, *arguments: Any) -> Any:
        begun.append(1.0)
        return slid(self, *arguments)

    monkeypatch.setattr(CompleteRun, "_slid", noted)
    reporter = replace(run.reporter, is_cancelled=lambda: bool(begun))
    assert Run(run.request, run.past, run.streams, reporter).execute()["state"] == "cancelled"
    assert begun


def test_what_is_cancelled_ends_within_a_slide(archive: Archive) -> None:
    request = slid_run(archive).request
    assert request.query.kind == "join"
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) > 5:
            raise CancelledError

    wanted = Wanted(frozenset("ps"), 0, TO_US, 10**6)
    tasks = [
        SlidesTask(HashRows(archive, nth, wanted), request.query, 1_000, 10**6) for nth in range(archive.area_hashes)
    ]
    with pytest.raises(CancelledError):
        _ = [task.answer(check) for task in tasks]
    assert len(asked) == 6


@pytest.mark.parametrize("more", [{"slides": 0}, {"slides": 1_001}, {"slides": 5, "as_live": True, "source": "topic"}])
def test_it_is_refused_where_it_makes_no_sense(archive: Archive, more: dict[str, Any]) -> None:
    request = run_of(archive).request
    with pytest.raises(RunError, match="slides"):
        RunRequest(request.query, 0, TO_US, **more)
