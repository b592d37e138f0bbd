from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, Stream, TimingJoin, Window, timing_join
from coincide.constraints import SensorRule
from coincide.errors import StreamError
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.live.label_codes import SPARE_LABELS
from coincide.live.row_labels import LEAST_LOG
from coincide.offsets import PairLimits
from tests.examples import examples
from tests.reference.timing_join import Row, couples, detections_of, on_time, row_lists
from tests.reference.timing_join import timing_join as slow_timing_join

TEMPLATES = (
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)]),
    Histogram([-2, -1.5, 1.5, 2], [0.5, 0, 0.5]),
)
WINDOWS = (Window(2.0), Window(0.5), Window(lo_s=-1.0, hi_s=3.0))
RULES: tuple[SensorRule, ...] = ("different", "same", "any")
DELAY_S = {"x": 3.0, "y": 1.0}
DELAY_US = {name: int(delay * 1e6) for name, delay in DELAY_S.items()}
STREAMS = {name: Stream(name, delay, longest_template_s=4.0) for name, delay in DELAY_S.items()}
SECOND = 1_000_000
Pair = tuple[int, int]

windows, thresholds, rules = st.sampled_from(WINDOWS), st.sampled_from((0.05, 0.4, 1.0)), st.sampled_from(RULES)
rows_of_x_and_y = row_lists(
    30,
    detected_at_us=st.integers(0, 40).map(lambda half: half * SECOND // 2),
    template=st.sampled_from(TEMPLATES),
    area=st.sampled_from(["bay", "sea"]),
    sensor=st.sampled_from(["s1", "s2", "s10"]),
    received_at_us=st.integers(0, 50).map(lambda half: half * SECOND // 2),
)
Question = tuple[Window, float, SensorRule]
questions = st.tuples(windows, thresholds, rules)
pair_limits = st.sampled_from([PairLimits(), PairLimits(table=2_000), PairLimits(table=0, cached=2)])
cuts = st.lists(st.integers(0, 30), max_size=5)
empty_batches = Detections([], TEMPLATES, area=[], sensor=[], received_at_us=[], id=[]), Detections([], [])


def stream_join(join: TimingJoin, rows: list[Row], cuts: list[int]) -> tuple[set[Pair], set[int]]:
    """Push the rows in runs of one stream; return pairs, each asserted to come once, and ids of late rows."""
    runs: list[list[Row]] = []
    for position, row in enumerate(rows):
        if not runs or position in cuts or runs[-1][0].stream != row.stream:
            runs.append([])
        runs[-1].append(row)
    found, late = list[Pair](), list[int]()
    for number, run in enumerate(runs):
        for empty in empty_batches:  # between any two batches, and before the first
            nothing = join.push("xy"[number % 2] if "y" in join._engine._intake._streams else "x", empty)
            assert len(nothing.insert) == len(nothing.late) == 0
        changes = join.push(run[0].stream, detections_of(run, TEMPLATES))
        found += couples(changes.insert)
        late += [run[position].id for position in changes.late.tolist()]
        assert len(changes.retract) == 0
    assert len(set(found)) == len(found), "a pair came twice"
    return set(found), set(late)


@pytest.mark.parametrize("partner", ["y", "x"])
@settings(max_examples=examples(40))
@given(rows_of_x_and_y, cuts, questions, pair_limits)
def test_finds_the_slow_twins_pairs_of_the_events_on_time(
    partner: str, rows: list[Row], cuts: list[int], question: Question, limits: PairLimits
) -> None:
    """The partner of x is y, or x itself."""
    rows = rows if partner == "y" else [replace(row, stream="x") for row in rows]
    join = TimingJoin(STREAMS["x"], STREAMS[partner], *question, pair_limits=limits)
    found, late = stream_join(join, rows, cuts)
    accepted = on_time(rows, DELAY_US)
    assert late == {row.id for row in rows} - {row.id for row in accepted}
    assert found == slow_timing_join(accepted, "x", partner, *question)


@settings(max_examples=examples(40))
@given(st.data(), rows_of_x_and_y, windows, thresholds, st.booleans())
def test_the_order_of_arrival_changes_nothing_while_nothing_is_late(
    data: st.DataObject, rows: list[Row], window: Window, threshold: float, is_self_join: bool
) -> None:
    rows = [replace(row, stream="x") for row in rows] if is_self_join else rows
    x, y = (Stream(name, 1000, 4) for name in ("x", "x" if is_self_join else "y"))
    shuffled = data.draw(st.permutations(rows))
    answers = [stream_join(TimingJoin(x, y, window, threshold), order, data.draw(cuts)) for order in (rows, shuffled)]
    assert answers[0] == answers[1]


@settings(max_examples=examples(40))
@given(rows_of_x_and_y, windows)
def test_evicting_by_the_retention_rule_after_every_batch_loses_no_pair(rows: list[Row], window: Window) -> None:
    """The hardest case: whatever may go goes at once, and late-but-on-time events come behind it."""
    join = TimingJoin(STREAMS["x"], STREAMS["y"], window, 0.05, "any")
    found: set[Pair] = set()
    for row in rows:
        found |= set(couples(join.push(row.stream, detections_of([row], TEMPLATES)).insert))
        join._engine._evict()
    assert found == slow_timing_join(on_time(rows, DELAY_US), "x", "y", window, 0.05, "any")


EITHER_END = Histogram([-4, -4, 0, 0], [0.5, 0, 0.5])  # 4 s before its report, or at it


@pytest.mark.parametrize("shift_s", [0, 5, -5])
# W = 100, D_y = 1: y at 99 is on time and may be of 95; X_y - X_x <= 3, so x of 92 still matters
# W = 100, D_x = 3: x at 97 is on time and may be of 93; X_y - X_x >= -1, so y of 92 still matters
@pytest.mark.parametrize(("kept", "arriving", "late_s"), [("x", "y", 99), ("y", "x", 97)])
def test_an_event_is_kept_until_the_last_partner_on_time_and_no_longer(
    kept: str, arriving: str, late_s: int, shift_s: int
) -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(lo_s=-1, hi_s=3), 0.5)
    for times, ids in (([91_999_990, 92_000_000], ["gone", "kept"]), ([100_000_000], ["watermark"])):
        join.push(kept, Detections(np.array(times) - shift_s * SECOND, [Histogram.point().shift(shift_s)], id=ids))
    assert join.buffered(kept) == 2
    changes = join.push(arriving, Detections([late_s * SECOND], [EITHER_END], id=["last"]))
    assert len(changes.late) == 0
    assert "kept" in {*changes.insert.left.tolist(), *changes.insert.right.tolist()}


def test_a_hundred_thousand_areas_and_a_century_in_one_batch() -> None:
    count = 100_000
    area = np.tile(np.arange(count), 2)
    times = np.repeat([315_532_800_000_000, 4_102_444_800_000_000], count)  # 1980 first, so that it is not late
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1)
    join.push("x", Detections(times, TEMPLATES[:1], area=area))
    pairs = join.push("y", Detections(times[count:], TEMPLATES[:1], area=area[count:])).insert
    assert len(pairs) == count
    assert (pairs.left - count == pairs.right - 2 * count).all(), "each area's events of 2100 meet"


def test_what_can_find_no_partner_any_more_makes_room_and_is_not_counted_as_dropped() -> None:
    join = TimingJoin(Stream("x", 1, 0), Stream("y", 1, 0), Window(1), 1, max_buffered=10)
    join.push("x", Detections(range(8), [Histogram.point()]))
    join.push("x", Detections(range(1_000_000_000, 1_000_000_008), [Histogram.point()]))
    assert (join.dropped, join.buffered("x")) == (0, 8)


def test_the_ids_of_a_pair_are_known_even_if_its_batch_lets_its_events_go() -> None:
    join = TimingJoin(Stream("x", 10, 0), Stream("y", 10, 0), Window(1), 1)
    join.push("x", Detections([0] * 2 * LEAST_LOG, TEMPLATES[:1], id=["old"] * 2 * LEAST_LOG))
    join.push("x", Detections([1000 * SECOND] * 300, TEMPLATES[:1], id=["x"] * 300))
    y = Detections([1000 * SECOND] * 100 + [2000 * SECOND], TEMPLATES[:1], id=["y"] * 101)
    pairs = join.push("y", y).insert
    assert join.buffered("x") == 0
    assert (pairs.left.tolist(), pairs.right.tolist()) == (["x"] * 30_000, ["y"] * 30_000)


@pytest.mark.parametrize("kind", [str, int])
def test_sensors_of_which_no_event_is_held_are_forgotten(kind: type[str] | type[int]) -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1, "same")
    found, most, per_batch = 0, 0, 100
    for nth in range(100):
        sensor = [kind(nth * per_batch + number) for number in range(per_batch)]
        rows = Detections([20 * nth * SECOND] * per_batch, TEMPLATES[:1], sensor=sensor)
        found += sum(len(join.push(stream, rows).insert) for stream in "xy")
        most = max(most, len(join._engine._intake.labels._sensors))
    assert found == 100 * per_batch, "each with the other event of its own sensor"
    assert SPARE_LABELS < most < SPARE_LABELS + 10 * per_batch


@pytest.mark.parametrize("kind", [str, int])
def test_areas_of_which_no_event_is_held_are_forgotten(kind: type[str] | type[int]) -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1, max_buffered=50)
    found, per_batch = 0, 50
    for first in range(0, 10_000, per_batch):
        area = [kind(number) for number in range(first, first + per_batch)]
        rows = Detections([first * SECOND] * per_batch, TEMPLATES[:1], area=area)
        found += sum(len(join.push(stream, rows).insert) for stream in "xy")
        assert len(join._engine._intake.labels._areas) <= SPARE_LABELS + 4 * per_batch
    assert found == 10_000
    assert len(join._engine._intake.watermark.state_us) <= 2 * (SPARE_LABELS + 4 * per_batch)
    assert (join.watermark_us(kind(0)), join.watermark_us(kind(9999))) == (BEFORE_ALL_US, 9950 * SECOND)


def test_a_forgotten_area_begins_anew() -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1, max_buffered=1)
    join.push("x", Detections([100 * SECOND], TEMPLATES[:1], area=["bay"]))
    assert len(join.push("x", Detections([0], TEMPLATES[:1], area=["bay"])).late) == 1
    many = [f"area {number}" for number in range(2 * SPARE_LABELS)]
    join.push("x", Detections([200 * SECOND] * len(many), TEMPLATES[:1], area=many))
    assert join.watermark_us("bay") == BEFORE_ALL_US
    again = join.push("x", Detections([0], TEMPLATES[:1], area=["bay"]))
    assert (len(again.late), join.watermark_us("bay")) == (0, 0)


def test_batches_that_do_not_fit_are_refused_and_change_nothing() -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1, "same")
    good = Detections([0], TEMPLATES[:1], area=["bay"], sensor=["s"], id=["n1"])
    join.push("x", good)
    for stream, bad, message in [
        ("z", good, "one of"),
        ("y", Detections([0], TEMPLATES[:1], area=["bay"]), "without a sensor"),
        ("y", Detections([0], TEMPLATES[:1], sensor=["s"], id=["n2"]), "area is 'missing': given in all batches"),
        ("y", Detections([0], TEMPLATES[:1], area=["bay"], sensor=["s"]), "id is 'missing': given in all batches"),
        ("y", Detections([0], [Histogram.uniform(0, 5)], area=["bay"], sensor=["s"], id=["n2"]), "at most 4.0 s long"),
        ("y", Detections([0], TEMPLATES[:1], area=[1], sensor=["s"], id=["n2"]), "area is 'number': the same kind as"),
        ("y", Detections([0], TEMPLATES[:1], area=["new"], sensor=[1], id=["n2"]), "sensor is 'number': the same kind"),
        ("y", Detections([0], TEMPLATES[:1], area=["new"], sensor=["s"], id=[2]), "id is 'number': the same kind as"),
    ]:
        with pytest.raises(CoincideError, match=message):
            join.push(stream, bad)
    assert join.buffered("y") == 0
    assert join._engine._intake.labels.area_code("new") is None
    assert join.push("y", good).insert.right.tolist() == ["n1"]


@pytest.mark.parametrize("max_buffered", [-1, 0, True, 2.5, "10"])
def test_a_hard_bound_is_a_whole_number_of_events(max_buffered: Any) -> None:
    with pytest.raises(StreamError, match=r"max_buffered is .*a whole number of events, at least 1"):
        TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1, max_buffered=max_buffered)


def test_asking_for_a_watermark_changes_nothing() -> None:
    join = TimingJoin(STREAMS["x"], STREAMS["y"], Window(1), 1)
    assert join.watermark_us("nowhere") == BEFORE_ALL_US
    join.push("x", Detections([7], TEMPLATES[:1], area=[5]))
    assert (join.watermark_us(5), join.watermark_us("nowhere")) == (7, BEFORE_ALL_US)


@settings(max_examples=examples(40))
@given(st.data(), rows_of_x_and_y, questions, st.booleans())
def test_the_batch_join_of_one_stream_gives_the_same_roles_by_id(
    data: st.DataObject, rows: list[Row], question: Question, as_text: bool
) -> None:
    names = np.array(data.draw(st.permutations(range(len(rows)))), np.int64)
    ids, whole = names.astype(np.str_) if as_text else names, detections_of(rows, TEMPLATES)
    whole = Detections(whole.detected_at_us, TEMPLATES, whole.template_index, whole.area, whole.sensor, id=ids)
    at_once = timing_join(whole, None, *question)
    streamed = TimingJoin(Stream("x", 1000, 4), None, *question).push("x", whole).insert
    assert set(zip(ids[at_once.left].tolist(), ids[at_once.right].tolist(), strict=True)) == set(couples(streamed))


def test_ties_of_time_are_ordered_by_id() -> None:
    ties = Detections([5] * 3, TEMPLATES[:1], id=["c", "a", "b"])
    pairs = timing_join(ties, None, Window(1), 1)
    assert sorted(couples(pairs)) == [(1, 0), (1, 2), (2, 0)]
