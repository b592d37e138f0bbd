"""Advisory work: it never holds the answers up, and what it leaves out depends on the log alone."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching import chance_rates, pair_verdicts
from coincide.fusion.matching.advisory_work import AdvisoryBudget, occurred_work
from coincide.fusion.matching.chance_rates import AS_PROBABLE
from coincide.fusion.records.kafka_records import InputRecord
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.offset_volumes import GraphRows, volumes_work
from tests.coincide.fusion.inputs import Row, frame, put, query_json, started
from tests.coincide.fusion.outputs import SavedCore, matches
from tests.examples import examples
from tests.reference.call_counts import CallCounts

FEW = Limits(max_advisory_work=3_000, max_advisory_work_of_frame=12_000)
OTHERS = ("occurred", "chance_rate_hz", "unknown")
WATCHED = [frame(0, [Row("first", 1.0), Row("second", 60.0), Row("third", 125.0)])]


def of_its_own(rng: np.random.Generator, buckets: int) -> Histogram:
    edges_s = np.cumsum(0.5 + rng.random(buckets + 1))
    return Histogram((edges_s / edges_s[-1] - 0.5) * 4, rng.dirichlet(np.ones(buckets)))


def burst(buckets: int, frames: int, rows: int = 10, apart_s: float = 0.5) -> list[InputRecord]:
    """Frames of detections that come `apart_s` after each other, each with a histogram of its own."""
    rng = np.random.default_rng(buckets)
    return [
        frame(
            1 + nth,
            [
                Row(f"{nth}-{row}", 130 + apart_s * (rows * nth + row), of_its_own(rng, buckets), sensor=f"s{row}")
                for row in range(rows)
            ],
        )
        for nth in range(frames)
    ]


def query(window_s: float = 5.0, **more: Any) -> dict[str, Any]:
    return {**query_json(window_s, 0.3, ("p", "p"), "any"), **more}


def advisory_work(monkeypatch: pytest.MonkeyPatch) -> CallCounts:
    """Count bucket pairs whose offsets and occurrences are worked out, as `pair_work` and the twin estimate them."""
    counts = CallCounts(monkeypatch)

    def of_volumes(_: object, rows: GraphRows) -> int:
        return round(float(volumes_work(rows).sum()))

    def of_almost_certain(_: object, rows: GraphRows) -> int:
        return int(np.count_nonzero(rows.thresholds == 1.0 - AS_PROBABLE))

    def of_onsets(_: object, templates: Any, index: Any, *rest: Any) -> int:
        return round(float(occurred_work(TemplatePairs(*templates, *index), np.zeros(len(index[0]), bool)).sum()))

    counts.watch(chance_rates, "offset_volumes", "almost certain", of_almost_certain)
    counts.watch(chance_rates, "offset_volumes", "chance", of_volumes)
    counts.watch(pair_verdicts, "occurrence_columns", "occurred", of_onsets)
    return counts


@pytest.mark.parametrize("at_once", [1, 4])
def test_the_work_of_a_burst_of_histograms_of_their_own_is_bounded(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    counts, frames = advisory_work(monkeypatch), burst(buckets=48, frames=4)
    limits = Limits(max_advisory_work=20_000, max_advisory_work_of_frame=80_000)
    core = started(put(0, query()), *WATCHED, limits=limits)
    records = [match for n in range(0, len(frames), at_once) for match in matches(core.push(frames[n : n + at_once]))]
    assert len(records) > 300
    assert 0 < counts["chance"] <= 4 * 80_000
    assert 0 < counts["occurred"] <= 4 * 80_000
    assert counts["almost certain"] == 0  # five times the work of any other level, for what two ends tell
    for field in ("occurred", "chance_rate_hz"):
        nulls = [match for match in records if match[field] is None]
        assert 0 < len(nulls) < len(records)
        assert {match["unknown"][field] for match in nulls} == {"too_much_work"}
    assert all(match["chance_rate_hz"] is not None for match in records if match["probability"] == 1.0)


def test_what_detections_share_is_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = advisory_work(monkeypatch)
    shared = Histogram.normal(1, 16)
    rows = [Row(f"{n}", 130.0 + 0.01 * (n // 10), shared, sensor=f"s{n}") for n in range(20)]
    core = started(put(0, query(1.0)), *WATCHED, limits=Limits(max_advisory_work=20_000))
    records = matches(core.push([frame(1, rows)]))
    assert len(records) == 190
    assert all(match["chance_rate_hz"] is not None for match in records)
    assert counts["chance"] <= 4 * 24 * (25 + 16 * 16)


def test_ids_and_all_else_stand_whatever_the_budget() -> None:
    frames = burst(buckets=20, frames=3)

    def told(limits: Limits) -> list[dict[str, Any]]:
        records = matches(started(put(0, query()), *WATCHED, limits=limits).push(frames))
        return [{name: match[name] for name in match if name not in OTHERS} for match in records]

    assert told(Limits(max_advisory_work=1, max_advisory_work_of_frame=1)) == told(Limits())


def test_episodes_that_begin_when_matches_occurred_have_it_whatever_the_budget() -> None:
    frames, nothing = burst(buckets=20, frames=2), Limits(max_advisory_work=1, max_advisory_work_of_frame=1)
    rules = {"occurred": {"gap_s": 1, "interval": "occurred"}, "hull": {"gap_s": 1, "interval": "hull"}}
    for interval, rule in rules.items():
        core = started(put(0, query(coalesce=rule)), *WATCHED, limits=nothing)
        has_it = {match["occurred"] is not None for match in matches(core.push(frames))}
        assert has_it == {interval == "occurred"}


@pytest.mark.parametrize(("most", "told"), [(1, {False}), (120, {False, True}), (50_000, {True})])
def test_a_match_that_comes_alone_is_told_what_it_is_told_among_others(most: int, told: set[bool]) -> None:
    """Each detection completes one match at most; templates, and so volumes, come again and again."""
    templates = [Histogram.uniform(-2, 2), of_its_own(np.random.default_rng(1), 12), Histogram.point()]
    frames = [frame(1 + nth, [Row(f"{nth}", 130 + 4.0 * nth, templates[nth % 3])]) for nth in range(40)]
    limits = Limits(max_advisory_work=most, max_advisory_work_of_frame=most)
    together, alone = (started(put(0, query()), *WATCHED, limits=limits) for _ in range(2))
    expected = matches(together.push(frames))
    assert [match for each in frames for match in matches(alone.push([each]))] == expected
    assert {match["chance_rate_hz"] is not None for match in expected} == told


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.integers(1, 3), min_size=3, max_size=6), st.booleans())
def test_batches_restarts_and_other_queries_change_no_null(sizes: list[int], other: bool) -> None:
    frames = burst(buckets=12, frames=6, rows=5)
    puts = [put(0, query())] + [put(1, {**query(3.0), "id": "other"})] * other
    at_once, saved = started(*puts, *WATCHED, limits=FEW), SavedCore(limits=FEW)
    core = started(put(0, query()), *WATCHED, limits=FEW)
    saved.save(core)
    expected = [match for match in matches(at_once.push(frames)) if match["query"] == "near"]
    assert 0 < sum("unknown" in match for match in expected) < len(expected)
    some: list[dict[str, Any]] = []
    while frames:
        size = sizes.pop() if sizes else len(frames)
        some += matches(core.push(frames[:size]))
        frames = frames[size:]
        saved.save(core)
        core = saved.restored()
    assert some == expected


@given(st.lists(st.tuples(*(st.integers(0, most) for most in (2, 3, 4))), max_size=40).map(sorted), st.data())
def test_a_budget_is_spent_on_the_first_matches_and_on_each_kind_once(
    drawn: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """The slow twin adds up one match after the other."""
    work_of = data.draw(st.lists(st.integers(0, 6), min_size=5, max_size=5))
    expected: list[bool] = []
    of_detection: defaultdict[tuple[int, int], dict[int, bool]] = defaultdict(dict)
    of_frame: defaultdict[int, dict[int, bool]] = defaultdict(dict)
    for in_frame, row, kind in drawn:
        paid = of_detection[in_frame, row]
        paid.setdefault(kind, sum(work_of[each] for each in {*paid, kind}) <= 8)
        paid_in_frame = of_frame[in_frame]
        if paid[kind]:
            paid_in_frame.setdefault(kind, sum(work_of[each] for each in {*paid_in_frame, kind}) <= 12)
        expected.append(work_of[kind] == 0 or (paid[kind] and paid_in_frame[kind]))
    frames, rows, kinds = np.array(drawn, np.int64).reshape(-1, 3).T
    work = np.array(work_of, np.float64)[kinds]
    affordable = AdvisoryBudget(detection=8, frame=12).affords(work, kinds, frames * 4 + rows, frames)
    assert affordable.tolist() == expected
