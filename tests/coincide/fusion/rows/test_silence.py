"""Heartbeats and silent areas: how far watermarks move, whatever the batches, against the slow twin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.areas import Areas
from coincide.fusion.saving.state_format import Header
from tests.coincide.fusion.inputs import MICROSECONDS, STREAMS, Row, frame, heartbeat, put, query_json, record, started
from tests.coincide.fusion.outputs import SavedCore, late, letters, pairs, reasons, slow_matches, status
from tests.coincide.fusion.strategies import rows, split
from tests.examples import examples
from tests.reference.fusion import SlowFusion
from tests.reference.silence import SlowSilence

QUIET_S = 15
LIMITS = Limits(sweep_after=1, max_slot_bytes=1_000, merge_slots_from=2, quiet_s=QUIET_S)
QUERY = put(0, query_json(window_s=3.0, threshold=0.31))


@st.composite
def lines(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of three areas and heartbeats of their two partitions, received one after the other but for some."""
    made, received_at_s = [], 1000
    for offset in range(draw(st.integers(1, 24))):
        received_at_s += draw(st.sampled_from([5, 5, 10, 14, 0, -3, 16, 50, -40]))
        area, partition = draw(st.sampled_from([("bay", 0), ("hill", 3), ("lake", 3)]))
        if draw(st.integers(0, 2)):
            made.append(heartbeat(offset, received_at_s, partition))
        else:
            made.append(frame(offset, draw(st.lists(rows(60), max_size=4)), area, partition, received_at_s))
    return made


def header(core: FusionCore) -> Header:
    return Header.decode(core.header(), 0)


def areas_of(core: FusionCore) -> Areas:
    return core._state.codes.areas  # the status tells the least and the greatest watermark only


def watermarks_us(core: FusionCore) -> dict[str, int]:
    areas = areas_of(core)
    return {area.name: areas.watermark.us(area.code) for area in areas}


def watermarks_s(core: FusionCore) -> dict[str, float]:
    return {area: us / MICROSECONDS for area, us in watermarks_us(core).items()}


@settings(max_examples=examples(150), deadline=None)
@given(lines(), st.data())
def test_rows_are_judged_by_the_definition(line: list[InputRecord], data: st.DataObject) -> None:
    core = FusionCore(STREAMS, LIMITS, 0)
    slow = SlowFusion(STREAMS, silence=SlowSilence(QUIET_S * MICROSECONDS))
    for nth, part in enumerate(split(data.draw, line, 3)):
        batch = [QUERY, *part] if nth == 0 else part
        known, known_late = len(slow.matches), len(slow.late)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(slow_matches(output)) == sorted(slow.matches[known:])
        assert sorted(late(output)) == sorted(slow.late[known_late:])
        assert {area: us for area, us in watermarks_us(core).items() if area in slow.watermark_us} == slow.watermark_us


@settings(max_examples=examples(60), deadline=None)
@given(lines(), st.data())
def test_neither_batches_nor_restarts_change_anything(line: list[InputRecord], data: st.DataObject) -> None:
    at_once, parted = started(*line, limits=LIMITS), started(limits=LIMITS)
    saved = SavedCore(limits=LIMITS)
    for part in split(data.draw, line, 4):
        parted.push(part)
        saved.save(parted)
        if data.draw(st.booleans()):
            parted = saved.restored()
    one, other = header(at_once), header(parted)
    times, others = ({it.name: areas.times.of(it.code) for it in areas} for areas in map(areas_of, (at_once, parted)))
    assert (watermarks_us(at_once), times) == (watermarks_us(parted), others)
    assert (one.clocks, one.totals) == (other.clocks, other.totals)


def beats(first_s: int, last_s: int, partition: int = 0) -> list[InputRecord]:
    """Heartbeats every 5 s; the offset of each is its time."""
    return [heartbeat(at_s, at_s, partition) for at_s in range(first_s, last_s + 1, 5)]


MOVED = [990, 990, 990, 995, 1000, 1005]
FIRST = frame(1000, [Row("a", 990.0)], received_at_s=1000)
SECOND = frame(1021, [Row("b", 991.0)], received_at_s=1021)
SLOW_SECOND = frame(1021, [Row("b", 991.0)], received_at_s=1008)
REPLICAS = [heartbeat(2 * n + behind, 1000 + 5 * n - behind) for n in range(1, 6) for behind in (0, 1)]
AFTER_FIRST: dict[str, list[tuple[list[InputRecord], int]]] = {  # batches, and the watermark after each
    # 1020 is 5 s beyond 1000 + 15
    "the time beyond quiet_s": [([beat], at_s) for beat, at_s in zip(beats(1005, 1030), MOVED, strict=True)],
    # 990 + 5 for the first silence, + 4 for that from 1021 to 1040
    "a frame ends the silence": [([*beats(1005, 1020), SECOND, *beats(1025, 1040)], 999)],
    # ingest was away for an hour, and gateways get quiet_s to deliver what they kept: listened 10 s before, 5 s after
    "time in which nobody listened": [(beats(1005, 1010), 990), (beats(4610, 4615), 990), (beats(4620, 4630), 1005)],
    # it began to listen at 1005
    "a clock wrong for a while": [([heartbeat(1001, 4e9), *beats(1005, 1015)], 990), (beats(1020, 1040), 1010)],
    # 25 s heard, 10 beyond 15
    "replicas a little apart": [(REPLICAS, 1000)],
    # silent from 1020 on: what had been heard when the frame was written
    "a slow frame": [([*beats(1005, 1020), SLOW_SECOND, *beats(1025, 1035)], 995), (beats(1040, 1040), 1000)],
}


@pytest.mark.parametrize("what", AFTER_FIRST)
def test_how_far_silence_moves_the_watermark(what: str) -> None:
    core = started(FIRST, limits=LIMITS)
    for batch, expected_s in AFTER_FIRST[what]:
        core.push(batch)
        assert watermarks_s(core) == {"bay": expected_s}


def test_a_row_after_a_heartbeat_of_its_own_batch_is_judged_by_what_the_heartbeat_moved() -> None:
    # Stream s may be 10 s late. Silence moves 990 to 990 + 1040 - 15 - 1000 = 1015 before row b comes.
    line = [QUERY, FIRST, *beats(1005, 1040)]
    line.append(frame(1041, [Row("b", 1004.0, stream="s"), Row("c", 1005.0, stream="s")], received_at_s=1041))
    output = started(limits=LIMITS).push(line)
    assert late(output) == [("north", "b", MICROSECONDS)]
    assert status(output)["totals"]["accepted"] == 2


def test_a_fast_clock_after_a_heartbeat_of_its_own_batch_makes_nobody_late() -> None:
    """The watermark goes to 1041 s, when the frame was received, whatever the heartbeats have moved before."""
    fast = frame(1041, [Row("ahead", 5000.0), Row("b", 1021.0), Row("late", 1020.0)], received_at_s=1041)
    assert late(started(limits=LIMITS).push([FIRST, *beats(1005, 1040), fast])) == [("north", "late", MICROSECONDS)]


def test_only_areas_of_the_heartbeats_own_partition_are_moved_and_none_is_made() -> None:
    areas = [frame(1, [Row("a", 990.0)], area, partition, 1000) for area, partition in (("bay", 0), ("hill", 3))]
    core = started(*areas, limits=LIMITS)
    output = core.push([*beats(1005, 1020, partition=3), *beats(1005, 1020, partition=5)])
    assert watermarks_s(core) == {"bay": 990, "hill": 995}
    assert (status(output)["totals"]["heartbeats"], status(output)["totals"]["frames"]) == (8, 2)


def test_an_area_without_a_usable_row_has_no_watermark_to_move() -> None:
    core = started(limits=LIMITS)
    unusable = Row("a", 990.0, stream="undeclared")
    output = core.push([frame(1000, [unusable], received_at_s=1000), *beats(1005, 1040)])
    assert status(output)["watermark_us"] == {"least": None, "greatest": None}
    core.push([frame(1041, [Row("b", 500.0)], received_at_s=1041)])
    assert watermarks_s(core) == {"bay": 500}


def test_switched_off_nothing_is_moved() -> None:
    assert watermarks_s(started(FIRST, *beats(1005, 5000), limits=Limits(quiet_s=None))) == {"bay": 990}


def test_an_area_is_forgotten_when_heartbeats_alone_have_gone_on_for_long_enough() -> None:
    core = started(FIRST, *beats(1005, 1110), limits=Limits(sweep_after=1, forget_area_after_s=100))
    core.push([frame(1, [Row("a", 990.0)], "hill", 3, 1000)])  # a sweep comes with new rows
    assert watermarks_s(core) == {"hill": 990}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b'{"v":2,"heartbeat":true}', "missing required field `received_at_us`"),
        (b'{"v":2,"heartbeat":false,"received_at_us":0}', "it must be true"),
        (b'{"v":2,"heartbeat":1,"received_at_us":0}', "Expected `bool`"),
        (b'{"v":1,"heartbeat":true,"received_at_us":0}', "Invalid enum value 1"),
        (b'{"v":2,"heartbeat":true,"received_at_us":1.5}', "Expected `int`"),
        (b'{"v":2,"heartbeat":true,"received_at_us":9223372036854775807}', "Expected `int` <="),
        (b'{"v":2,"heartbeat":true,"received_at_us":0,"area":"bay","detections":[]}', "unknown field `area`"),
    ],
)
def test_a_heartbeat_that_cannot_be_used_is_a_dead_letter_and_stops_nothing(value: bytes, said: str) -> None:
    good = [Row("p1", 1000.0), Row("s1", 1001.0, stream="s")]
    output = started(QUERY).push([InputRecord("detections", 0, 0, None, value), frame(1, good)])
    assert reasons(output) == ["malformed_frame"]
    assert said in letters(output)[0]["detail"]
    assert pairs(output) == [("p1", "s1")]
    assert status(output)["totals"]["heartbeats"] == 0


def test_a_heartbeat_has_no_key() -> None:
    beat = record(0, b'{"v":2,"heartbeat":true,"received_at_us":0}')
    assert reasons(started().push([beat])) == ["malformed_frame"]


@pytest.mark.parametrize("quiet_s", [0, -1, 0.5])
def test_quiet_s_is_checked(quiet_s: float) -> None:
    with pytest.raises(ValueError, match="quiet_s is"):
        Limits(quiet_s=quiet_s)
