"""A handful of rows is taken in one by one, with the same answers and the same saved state as by columns."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide import Stream
from coincide.fusion.core import admission
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.fusion.rows import batch_rows
from coincide.fusion.saving import journal
from coincide.joins.lateness import BEFORE_ALL_US, Watermark, raised_us
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put, query_json, started
from tests.coincide.fusion.strategies import SWEEPING, THREE_STREAMS, Pushes, split
from tests.examples import examples

RUNS = [drawn.runs(), drawn.wide_runs(), drawn.readings_runs()]
Pushed = tuple[Output, bytes, dict[int, bytes], list[int]]


@contextmanager
def by_columns() -> Iterator[None]:
    """Let no rows be few."""
    with ExitStack() as stack:
        for module in (admission, batch_rows, journal):
            stack.enter_context(patch.object(module, "FEW_ROWS", -1))
        yield


def pushed(core: FusionCore, batch: list[InputRecord]) -> Pushed:
    return core.push(batch), core.header(), core.journal(), core.dropped_slots()


@st.composite
def quiet_frames(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of rows that are all plain but for one now and then; heartbeats after silence move what is late."""
    made, at_s = [], 1000.0
    for offset in range(draw(st.integers(1, 8))):
        at_s += draw(st.sampled_from([0, 0.1, 3, 3, 50]))
        area, partition = draw(st.sampled_from([("bay", 0), ("hill", 3)]))
        if draw(st.integers(0, 4)) == 0:
            made.append(heartbeat(2 * offset, at_s + 40, partition))
        rows = [
            Row(
                id=draw(st.sampled_from(["again"] + [f"{offset}-{nth}"] * 9)),
                at_s=at_s - draw(st.sampled_from([0, 0.5, 1, 1, 30])),
                template=draw(st.sampled_from(drawn.TEMPLATES)),
                stream=draw(st.sampled_from("pps")),
                sensor=draw(st.sampled_from(["north", "south", "east"])),
            )
            for nth in range(draw(st.integers(1, 3)))
        ]
        made.append(frame(2 * offset + 1, rows, area, partition, at_s + draw(st.sampled_from([0, 0, 1]))))
    return made


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_few_rows_are_taken_in_as_columns_are(data: st.DataObject) -> None:
    batches: Pushes = data.draw(st.one_of(RUNS))
    assert_alike(batches)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_plain_rows_are_taken_in_as_columns_are(data: st.DataObject) -> None:
    frames = data.draw(quiet_frames())
    assert_alike([[put(0, query_json(window_s=3.0, threshold=0.31))], *split(data.draw, frames, 4)])


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_beside_a_stream_with_echoes_plain_rows_are_taken_in_as_columns_are(data: st.DataObject) -> None:
    """Its rows wait now and then, and mostly nothing does."""
    frames, echo_s = data.draw(quiet_frames()), data.draw(st.sampled_from([0.0, 2.0, 30.0]))
    echoing = replace(THREE_STREAMS["s"], max_delay_s=data.draw(st.sampled_from([0.0, 2.0])), echo_s=echo_s)
    batches = [[put(0, query_json(window_s=3.0, threshold=0.31))], *split(data.draw, frames, 4)]
    assert_alike(batches, {**THREE_STREAMS, "s": echoing})


def assert_alike(batches: Pushes, streams: Mapping[str, Stream] = THREE_STREAMS) -> None:
    core, twin = (started(streams=dict(streams), limits=SWEEPING) for _ in range(2))
    for batch in batches:
        with patch.object(admission, "batch_of", wraps=batch_rows.batch_of) as columns:
            found = pushed(core, batch)
        event(f"plain: {not columns.called}")
        with by_columns():
            assert pushed(twin, batch) == found


def test_rows_that_come_one_by_one_are_plain() -> None:
    core = started(put(0, query_json()))
    with patch.object(admission, "batch_of", side_effect=AssertionError("columns")):
        for nth in range(3):
            core.push([frame(nth, [Row(f"{nth}", 1000.0 + nth)])])
        core.push([])


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=6))
def test_a_watermark_is_raised_row_by_row_as_by_columns(rows: list[tuple[int, int]]) -> None:
    of_area, by_columns_us, us = Watermark(), Watermark(), BEFORE_ALL_US
    latest_us, received_at_us = np.array(rows, np.int64).reshape(-1, 2).T
    expected = by_columns_us.advance(np.zeros(len(rows), np.int32), latest_us, received_at_us).tolist()
    found = [us := raised_us(us, *row) for row in rows]
    assert found == expected
    of_area.put(0, us)
    assert of_area.us(0) == by_columns_us.us(0)
