"""The work of a push: how many readings it looks at and moves, whatever is held."""

import gc
from typing import Any

import numpy as np
import pytest

from coincide import EagerCoalescing, LazyCoalescing, WindowExtent
from coincide.coalescing.runs import UNWATCHED
from coincide.coalescing.streams import reading_streams, sections
from coincide.coalescing.streams.columnar import ColumnarExtent
from coincide.coalescing.streams.group_runs import GroupRuns
from coincide.coalescing.streams.segments import Segments
from coincide.coalescing.streams.single import SingleExtent
from tests.reference.call_counts import CallCounts

SECTION = 256


def filled(coalescing: type[Any], readings: int, groups: int) -> Any:
    stream = coalescing(WindowExtent(size=readings))
    ts = np.arange(readings)
    stream.push(10 * ts, ts % groups, ts // 7)
    return stream


def written(_: Any, columns: Segments, at: Any, *__: Any) -> int:
    return len(at)


@pytest.mark.parametrize("coalescing", [EagerCoalescing, LazyCoalescing])
@pytest.mark.parametrize("groups", [1, 10])
@pytest.mark.parametrize("readings", [2_000, 8_000])
@pytest.mark.parametrize("late", [0.0, 0.02, 0.5, 0.99])
def test_a_push_of_one_writes_no_more_than_a_section_whatever_is_held(
    monkeypatch: pytest.MonkeyPatch, coalescing: type[Any], readings: int, groups: int, late: float
) -> None:
    monkeypatch.setattr(sections, "FULL", SECTION)
    stream, counts, most = filled(coalescing, readings, groups), CallCounts(monkeypatch), 0
    counts.watch(Segments, "write", "written", written)
    counts.watch(Segments, "make_room", "written", lambda _, columns, *__: int(columns.sizes.sum()))
    for number in range(30):
        before = counts["written"]
        ts = 10 * (readings + number) - int(10 * late * readings) - 3
        stream.push([ts], [number % groups], [number], [readings + number])
        most = max(most, counts["written"] - before)
    assert most <= 4 * SECTION


def test_the_form_changes_by_a_slice_with_each_push(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_streams, "SLICE", 100)
    counts, most = CallCounts(monkeypatch), 0
    counts.watch(GroupRuns, "add", "added", lambda *_: 1)
    eager = filled(EagerCoalescing, 2_000, 10)
    forms = [type(eager._form)]
    for number in range(2_000, 2_200):
        before = counts["added"]
        eager.push([10 * number], [number % 10], [number], [number])
        most = max(most, counts["added"] - before)
    assert [*forms, type(eager._form)] == [ColumnarExtent, SingleExtent]
    assert most <= 102


def test_the_garbage_collector_does_not_walk_what_is_held() -> None:
    """Of a million readings each full collection would cost a third of a second."""
    eager, readings = EagerCoalescing(WindowExtent(size=2_000)), 2_000
    gc.collect()
    before = len(gc.get_objects())
    for ts in range(readings):
        eager.add(ts, ts % 5, ts // 11, ("mic", str(ts), ts), UNWATCHED)  # type: ignore[arg-type]  # ids as the job has them
    gc.collect()
    gc.collect()
    assert len(eager.scan()) > 200
    assert len(gc.get_objects()) - before < 100
