"""The fusion core fed by hand: what comes out for a few detections, late ones, repeated ones, and changed queries."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from msgspec import msgpack

from coincide import Histogram, Stream
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.saving.area_slots import FIRST_NUMBER
from coincide.fusion.saving.state_format import FORMAT, StateError
from coincide.offsets.cache import OffsetCache
from tests.coincide.fusion.inputs import SN1987A, STREAMS, Row, frame, put, query_json, removal, started
from tests.coincide.fusion.outputs import (
    SavedCore,
    late,
    letters,
    matches,
    pairs,
    reasons,
    row_slots,
    slow_matches,
    status,
)
from tests.reference.fusion import SlowFusion

WORK = {"seconds": 0.0, "candidates": 1}  # of a core without a clock


def with_query(**query: object) -> FusionCore:
    return started(put(0, query_json(**query)))  # type: ignore[arg-type]


P, S = Row("p1", 1000.0), Row("s1", 1001.0, stream="s", sensor="south")


def test_the_first_neutrinos_of_sn1987a() -> None:
    query = query_json(10, 0.1, ("neutrino", "neutrino"), "different")
    output = started(put(0, query), streams={"neutrino": Stream("neutrino")}).push([frame(0, SN1987A)])
    by_pair = dict(zip(pairs(output), (match["probability"] for match in matches(output)), strict=True))
    assert by_pair["k1", "i1"] == pytest.approx(20 / 120, abs=1e-12)
    assert by_pair["i1", "b1"] == pytest.approx(20 / 56, abs=1e-12)


def test_a_match_record_holds_what_the_contract_says() -> None:
    fused = with_query(window_s=2.0, threshold=0.6)
    template = Histogram.uniform(-1, 0.5)
    row = Row("p1", 1000.0, template, attributes=(("mag", 1.5), ("place", "Norcia é")))
    (match,) = matches(fused.push([frame(0, [row, S])]))
    identity = '["near",["a","north","p1",1000000000],["b","south","s1",1001000000]]'
    p1: dict[str, object] = {"role": "a", "sensor": "north", "id": "p1", "stream": "p", "template": template.id}
    p1 |= {"detected_at_us": 1_000_000_000, "earliest_us": 999_000_000, "latest_us": 1_000_500_000}
    s1: dict[str, object] = {"role": "b", "sensor": "south", "id": "s1", "stream": "s", "template": S.template.id}
    s1 |= dict.fromkeys(("detected_at_us", "earliest_us", "latest_us"), 1_001_000_000)
    attributes = {"mag": 1.5, "place": "Norcia é"}
    # p1 lies in [999, 1000.5], before s1 at 1001 for certain: the onset is p1's own time
    onset = {"mean_us": 999_750_000, "p05_us": 999_075_000, "p95_us": 1_000_425_000}
    expected = {"v": 1, "query": "near", "query_version": 1, "area": "bay", "received_at_us": 10**15}
    expected |= {"earliest_us": 999_000_000, "latest_us": 1_001_000_000}  # of p1, of s1
    assert match == expected | {
        "id": "m-" + hashlib.sha256(identity.encode()).hexdigest()[:32],
        "probability": pytest.approx(1.0),  # X_s - X_p = 1 - uniform(-1, 0.5) lies in [0.5, 2]
        "occurred": {**onset, "std_s": pytest.approx(1.5 / 12**0.5)},
        "chance_rate_hz": None,
        "unknown": {"chance_rate_hz": "not_watched_yet"},
        "members": [{**p1, "attributes": attributes}, {**s1, "attributes": {}}],
    }


def test_ids_counted_anew_after_a_restart_make_other_matches() -> None:
    fused = with_query()
    (before,) = matches(fused.push([frame(0, [P, S])]))
    day_s = 86_400.0  # by then both first detections would be late, and their ids may be used again
    again = [Row("p1", 1000.0 + day_s), Row("s1", 1001.0 + day_s, stream="s", sensor="south")]
    (after,) = matches(fused.push([frame(1, [Row("tick", 940.0 + day_s, sensor="clock")]), frame(2, again)]))
    assert pairs(fused.push([])) == []
    assert [member["id"] for member in after["members"]] == [member["id"] for member in before["members"]]
    assert after["id"] != before["id"]


def test_roles_of_a_symmetric_self_join_follow_time_then_sensor_then_id() -> None:
    fused = with_query(streams=("p", "p"))
    rows = [Row("late", 1001.0), Row("z", 1000.0, sensor="a"), *(Row(name, 1000.0, sensor="b") for name in "ab")]
    expected = {("z", "late"), ("a", "late"), ("b", "late"), ("z", "a"), ("z", "b"), ("a", "b")}
    assert set(pairs(fused.push([frame(0, rows)]))) == expected


def test_an_asymmetric_self_join_tries_both_orientations() -> None:
    fused = with_query(streams=("p", "p"), window_s=(-0.5, 2.0))
    rows = [Row("x", 1000.0), Row("y", 1000.3), Row("z", 1001.5)]  # z - y = 1.2 s, z - x = 1.5 s: one way each
    assert set(pairs(fused.push([frame(0, rows)]))) == {("x", "y"), ("y", "x"), ("y", "z"), ("x", "z")}


def test_late_is_judged_row_by_row_and_says_by_how_much() -> None:
    rows = [Row("first", 1000.0), Row("on-time", 980.0), Row("late", 979.999999), Row("s", 989.0, stream="s")]
    output = started().push([frame(0, rows)])
    refused = [(it["id"], it["reason"], it["late_by_us"]) for it in letters(output)]
    assert refused == [("late", "late", 1), ("s", "late", 1_000_000)]
    assert status(output)["totals"]["late"] == 2


def test_a_fast_clock_makes_nobody_late() -> None:
    assert reasons(started().push([frame(0, [Row("ahead", 5000.0), Row("b", 990.0)], received_at_s=1000.0)])) == []


def test_a_repeated_detection_counts_once_and_another_by_its_id_is_a_conflict() -> None:
    fused = with_query()
    fused.push([frame(0, [P, S])])
    output = fused.push([frame(1, [P, Row("p1", 1000.5), Row("p1", 1000.0, attributes=(("x", 1),))])])
    assert pairs(output) == []
    assert reasons(output) == ["conflict", "conflict"]
    totals = status(output)["totals"]
    assert (totals["accepted"], totals["duplicates"], totals["conflicts"]) == (2, 1, 2)


def test_an_id_may_be_used_again_when_its_first_detection_would_be_late() -> None:
    fused = started(frame(0, [P]), limits=Limits(sweep_after=1_000_000))  # nothing is swept away
    output = fused.push([frame(1, [Row("p1", 1020.0)]), frame(2, [Row("other", 1021.0), Row("p1", 1021.0)])])
    totals = status(output)["totals"]
    # at 1020 s the first p1 is exactly as late as allowed, so the second conflicts; at 1021 s it is forgotten
    assert [(it["reason"], it["record"]["detected_at_us"]) for it in letters(output)] == [("conflict", 1_020_000_000)]
    assert (totals["conflicts"], totals["accepted"]) == (1, 3)


@pytest.mark.parametrize("beyond_us", [-1, 0, 1])
@pytest.mark.parametrize("sweep_after", [1, 1_000_000])
@pytest.mark.parametrize("at_once", [True, False])
def test_at_the_limit_of_lateness_a_row_is_on_time_and_its_id_is_remembered(
    beyond_us: int, sweep_after: int, at_once: bool
) -> None:
    """A watermark of 1020 s is the last one at which a row of 1000 s is on time, whether it is new or comes again."""
    fused, slow = started(limits=Limits(sweep_after=sweep_after)), SlowFusion(dict(STREAMS))
    new = Row("new", 1000.0)
    rows = [P, Row("watermark", 1020 + beyond_us / 1e6), P, new, replace(P, at_s=1020.0)]
    frames = [frame(offset, [row]) for offset, row in enumerate(rows)]
    outputs = [fused.push(batch) for batch in ([frames] if at_once else [[each] for each in frames])]
    slow.push(frames)
    assert [each for output in outputs for each in late(output)] == slow.late
    totals = status(outputs[-1])["totals"]
    assert (totals["accepted"], totals["duplicates"]) == (len(slow.rows), slow.duplicates)
    assert totals["conflicts"] == slow.conflicts
    assert bool(slow.late) == (beyond_us > 0)


@pytest.mark.parametrize("before", [0, 1])
def test_the_first_detection_after_an_activation_is_kept_as_far_as_the_query_reaches(before: int) -> None:
    """Of those before it none is needed for its sake: they are forgotten once they would be late."""
    query = put(0, query_json(60.0, 0.5, name="far"))
    rows = [Row("old", 1000.0), P, Row("watermark", 1050.0), Row("partner", 1045.0, stream="s", sensor="south")]
    records = [frame(offset, [row]) for offset, row in enumerate(rows[1 - before :])]
    fused, slow = started(limits=Limits(sweep_after=1)), SlowFusion(dict(STREAMS))
    found = []
    for record in (*records[:before], query, *records[before:]):
        found += slow_matches(fused.push([record]))
        slow.push([record])
    assert found == slow.matches
    assert len(found) == 2


def test_an_id_taken_over_is_still_remembered_when_its_first_detection_is_swept_away() -> None:
    fused = started(frame(0, [P]), limits=Limits(sweep_after=2))
    fused.push([frame(1, [Row("other", 1021.0), Row("p1", 1021.0)])])  # the sweep drops P, which is late by now
    totals = status(fused.push([frame(2, [Row("p1", 1021.0)])]))["totals"]
    assert (totals["accepted"], totals["duplicates"]) == (3, 1)


def test_records_are_applied_control_first_then_by_partition_and_offset() -> None:
    output = started().push([frame(2, [Row("p1", 1000.5, sensor="north")]), frame(1, [P, S]), put(0, query_json())])
    assert [match["members"][0]["detected_at_us"] for match in matches(output)] == [1_000_000_000]
    assert reasons(output) == ["conflict"]


def test_a_changed_threshold_keeps_the_activation_and_a_changed_window_does_not() -> None:
    template = Histogram.uniform(-2, 0)  # P(|X_s - X_p| <= 2 s) of S against this one is 0.5
    uncertain = Row("p1", 1000.0, template)
    fused = with_query(threshold=0.9)
    assert pairs(fused.push([frame(0, [uncertain])])) == []
    output = fused.push([put(1, query_json(threshold=0.4), 2), frame(1, [S])])
    assert [(match["query_version"], match["probability"]) for match in matches(output)] == [(2, pytest.approx(0.5))]
    wider = put(2, query_json(2.5, threshold=0.4), 3)
    assert pairs(fused.push([wider, frame(2, [Row("s2", 1001.0, stream="s")])])) == []
    assert pairs(fused.push([frame(3, [Row("p2", 1000.0)])])) == [("p2", "s2")]


def test_pairs_completed_during_a_pause_are_never_emitted() -> None:
    fused = with_query()
    fused.push([frame(0, [P]), put(1, query_json(), 2, paused=True)])
    assert pairs(fused.push([frame(1, [S])])) == []
    output = fused.push([put(2, query_json(), 3), frame(2, [Row("s2", 1001.5, stream="s")])])
    assert pairs(output) == [("p1", "s2")]
    assert status(output)["queries"] == {
        "near": {"version": 3, "paused": False, "matches": 1, "episodes": 0, "work": WORK}
    }


def test_a_removed_query_is_gone_and_an_older_version_does_not_bring_it_back() -> None:
    fused = with_query()
    output = fused.push([frame(0, [P]), removal(1), put(2, query_json(), 1), put(3, query_json(), 2)])
    assert status(output)["queries"] == {}
    assert pairs(fused.push([frame(1, [S])])) == []
    again = fused.push([put(4, query_json(), 3), frame(2, [Row("s2", 1001.5, stream="s")])])
    assert pairs(again) == []  # p1 came before the query was created again
    assert status(again)["control_offset"] == 4


def change_to(query: dict[str, object]) -> bytes:
    return json.dumps({"v": 1, "id": "near", "version": 2, "changed_at_us": 0, "query": query}).encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"not json", "unusable_query"),
        (b'{"v":1,"id":"near","version":2}', "unusable_query"),
        (b'{"v":2,"id":"near","version":2,"removed":true}', "unusable_query"),
        (b'{"v":1,"id":"near","version":"2","removed":true}', "unusable_query"),
        (b'{"v":1,"id":"other","version":2,"removed":true}', "unusable_query"),  # the key is near
        (b'{"v":1,"id":"near","version":2,"query":[]}', "unusable_query"),
        *((change_to(query_json(**it)), "unusable_query") for it in ({"name": "x"}, {"threshold": 2})),
        (change_to(query_json(streams=("p", "x"))), "unknown_stream"),
        (change_to({**query_json(), "coalesce": {}}), "unusable_query"),
        (change_to({**query_json(), "form": "graph", "from": {"a": "p", "b": "s", "c": "p"}}), "unusable_query"),
    ],
)
def test_an_unusable_control_record_is_a_dead_letter_and_the_version_in_force_stays(change: bytes, reason: str) -> None:
    output = with_query().push([InputRecord("queries", 0, 1, b"near", change), frame(0, [P, S])])
    assert reasons(output) == [reason]
    assert [match["query_version"] for match in matches(output)] == [1]


def test_a_tombstone_on_the_queries_topic_changes_nothing() -> None:
    output = with_query().push([InputRecord("queries", 0, 1, b"near", None), frame(0, [P, S])])
    assert (reasons(output), pairs(output)) == ([], [("p1", "s1")])


def test_too_many_queries_are_refused() -> None:
    output = started(limits=Limits(max_queries=1)).push([put(0, query_json()), put(1, query_json(name="more"))])
    assert reasons(output) == ["too_many_queries"]
    assert list(status(output)["queries"]) == ["near"]


def test_beyond_the_cap_the_oldest_are_evicted_and_counted() -> None:
    limits = Limits(max_buffered=32, sweep_after=1_000)
    rows = frame(0, [Row(f"p{n}", 1000.0) for n in range(33)])
    fused = started(put(0, query_json(window_s=60, threshold=0.5)), rows, limits=limits)
    assert fused.journal().keys() == fused.live_slots()
    assert row_slots(fused.live_slots()) == {0}  # the slot still holds the evicted rows
    restored = FusionCore.restore(STREAMS, limits, 0, fused.header(), fused.journal().values())
    for either in (fused, restored):
        output = either.push([frame(1, [S])])
        # 33 are one too many: it and a sixteenth of the cap go, p0 to p2, and do not come back with a restart
        assert status(output)["totals"]["evicted"] == 3
        assert pairs(output) == [(f"p{n}", "s1") for n in range(3, 33)]
    again = fused.push([frame(2, [Row("p0", 1000.0)])])
    assert status(again)["totals"]["accepted"] == 35  # forgotten with its detection


def test_what_no_match_needs_is_dropped_with_its_slots_templates_and_sensors() -> None:
    fused = started(put(0, query_json()), limits=Limits(sweep_after=1, merge_slots_from=1_000))
    saved = SavedCore()
    for step in range(50):
        own = Histogram.uniform(-1 - step / 100, 0)  # every detection has its own sensor and template
        fused.push([frame(step, [Row(f"p{step}", 1000.0 + 10 * step, own, sensor=f"sensor-{step}")])])
        saved.save(fused)
    # p needs W - 10 s (D of s) - 2 s (window) - 8 s (longest template of s), its id W - 20 s: the last three
    assert row_slots(saved.slots) == {47, 48, 49}
    assert len(fused.header()) < 420
    assert sum(len(saved.slots[number]) for number in saved.slots if number >= FIRST_NUMBER) < 50 * 40  # rates


def test_what_every_detection_brings_of_its_own_stays_bounded_and_is_counted() -> None:
    fused = started(put(0, query_json(threshold=0.3)), limits=Limits(sweep_after=20, max_cached_pairs=50))
    draw = np.random.default_rng(4)
    for step in range(60):
        at_s = 1000.0 + 2 * step
        rows = []
        for name, stream in ((f"{stream}{step}-{n}", stream) for stream in ("p", "s") for n in range(4)):
            row_s, sigma_s = at_s + float(draw.random()), float(draw.uniform(0.1, 1))
            rows.append(Row(name, row_s, Histogram.normal(sigma_s), stream))
        counts = status(fused.push([frame(step, rows, received_at_s=at_s)]))
        assert len(fused._state.codes.templates) <= sum(counts["buffered"].values()) + 20
        assert counts["template_pairs"]["kept"] <= 50
    assert sum(counts["buffered"].values()) < 160  # of 480
    assert counts["totals"]["matches"] > 100
    # no two sigmas are equal, so no pair is met a second time
    assert counts["template_pairs"]["hits"] == 0
    assert counts["template_pairs"]["misses"] >= counts["totals"]["matches"]


LONG = Histogram.uniform(-0.9, 0.9)  # 1 s apart two of them are not certain to lie within 2 s of each other


def test_detections_that_share_templates_meet_known_pairs_and_a_new_threshold_forgets_no_count() -> None:
    fused = with_query(window_s=2.0)
    for step in range(10):
        output = fused.push([frame(step, [Row(f"p{step}", 1000.0, LONG), Row(f"s{step}", 1001.0, LONG, "s")])])
    # push n asks for n partners of its p and n + 1 of its s: 1 + 1 + 2 are as many as offsets are worth here
    assert status(output)["template_pairs"] == {"hits": 16, "misses": 3, "kept": 1}
    fused.push([put(1, query_json(window_s=2.0, threshold=0.1), version=2)])
    output = fused.push([frame(10, [Row("p10", 1000.0, LONG)])])
    assert status(output)["template_pairs"] == {"hits": 16, "misses": 4, "kept": 1}


def test_templates_of_late_detections_are_not_kept() -> None:
    fused = started(frame(0, [P]), limits=Limits(sweep_after=10))
    for step in range(100):
        output = fused.push([frame(step + 1, [Row("late", 900.0, Histogram.uniform(-1 - step / 100, 0))])])
        assert len(fused._state.codes.templates) <= 11
    assert status(output)["totals"]["late"] == 100
    assert pairs(fused.push([put(0, query_json()), frame(101, [P, Row("p2", 1001.0), S])])) == [("p2", "s1")]


def test_slots_with_few_rows_left_are_merged() -> None:
    saved = SavedCore(limits=Limits(sweep_after=1, merge_slots_from=4))
    fused = started(limits=saved.limits)
    for step in range(30):  # a slow area each, which keeps its row: nothing moves its watermark
        output = fused.push([put(0, query_json()), frame(step, [P], f"area-{step}", partition=step)])
        saved.save(fused)
        assert len(row_slots(saved.slots)) < 8
        assert len(saved.slots) < 8 + 4  # and those of areas
    assert status(output)["buffered"] == {"p": 30, "s": 0}
    assert max(row_slots(fused.live_slots())) < 45  # 30 for the batches, the rest merged: not one merge a batch
    assert pairs(saved.restored().push([frame(30, [S], "area-0")])) == [("p1", "s1")]


def test_long_rows_are_not_written_again_and_again() -> None:
    limits = Limits(sweep_after=1, merge_slots_from=4, max_slot_bytes=20_000)
    fused = started(put(0, query_json()), limits=limits)
    written, text = 0, (("text", "x" * 900),)
    for step in range(40):  # nothing is dropped: no watermark moves
        rows = [Row(f"p{step}-{nth}", 1000.0, attributes=text) for nth in range(20)]
        fused.push([frame(step, rows)])
        written += sum(map(len, fused.journal().values()))
    assert written < 1.5 * 40 * 20 * 1_000


def test_a_template_far_from_its_reported_time_does_not_widen_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def contain(self: OffsetCache, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        tried.append(len(offset_us))
        return np.ones(len(offset_us), np.bool_)

    monkeypatch.setattr(OffsetCache, "contain", contain)
    fused = with_query(window_s=2.0)
    far = Row("far", 1000.0, Histogram.uniform(86_000, 86_001), "s")
    spread = [Row(f"s{n}", 1000.0 + 20 * n, stream="s") for n in range(50)]
    fused.push([frame(0, [far, *spread], received_at_s=1000.0)])
    fused.push([frame(1, [Row("p1", 1500.0)], received_at_s=1000.0)])
    assert sum(tried) == 1  # of 51 buffered ones


def test_an_idle_area_is_forgotten() -> None:
    limits = Limits(sweep_after=1, forget_area_after_s=3600)
    fused = started(frame(0, [P], "quiet", received_at_s=1000.0), limits=limits)
    assert status(fused.push([frame(1, [P], "bay", received_at_s=4601.0)]))["buffered"] == {"p": 1, "s": 0}
    saved = b"".join(fused.journal().values())
    assert (b"quiet" in saved, b"bay" in saved) == (False, True)
    assert fused.journal().keys() == fused.live_slots()  # the slot of the first push went with the area
    assert Limits().forget_area_after_s == 7 * 86_400  # as docs/explanation/lateness-and-retention.md says


def test_an_area_whose_partition_is_read_later_is_not_idle() -> None:
    limits = Limits(sweep_after=1, forget_area_after_s=3600)
    slow = frame(0, [P], "slow", received_at_s=1000.0)
    read_ahead = frame(0, [P], "bay", partition=1, received_at_s=9000.0)
    fused = started(put(0, query_json()), slow, read_ahead, limits=limits)
    restored = FusionCore.restore(STREAMS, limits, 0, fused.header(), fused.journal().values())
    for either in (fused, restored):
        assert pairs(either.push([frame(1, [S], "slow", received_at_s=1001.0)])) == [("p1", "s1")]


def test_the_status_record_has_absolute_totals_and_no_clock() -> None:
    none = ("heartbeats", "late", "conflicts", "malformed", "no_number", "no_place", "evicted", "echoes", "episodes")
    once = ("frames", "duplicates", "matches")
    output = with_query().push([frame(0, [P, S, S])])
    assert output.status.key == b"shard-0"
    expected = {"v": 1, "shard": 0, "control_offset": 0, "buffered": {"p": 1, "s": 1}}
    expected["watermark_us"] = {"least": 1_001_000_000, "greatest": 1_001_000_000}
    expected["area_watermarks_us"] = {"bay": 1_001_000_000}
    assert status(output) == expected | {
        "queries": {"near": {"version": 1, "paused": False, "matches": 1, "episodes": 0, "work": WORK}},
        "totals": {**dict.fromkeys(none, 0), **dict.fromkeys(once, 1), "detections": 3, "accepted": 2},
        "limits": {"max_matches_per_detection": 1_000, "max_candidates_per_detection": 50_000},
        "template_pairs": {"hits": 0, "misses": 0, "kept": 0},  # the match is certain
        "busiest_hz": {},
        "rates_hz": {"areas": {}, "elsewhere": {}},
    }
    assert status(started().push([]))["watermark_us"] == {"least": None, "greatest": None}


def saved_core() -> tuple[bytes, dict[int, bytes]]:
    fused = with_query()
    fused.push([frame(0, [P])])
    return fused.header(), fused.journal()


@pytest.mark.parametrize(
    ("header", "shard", "sentence"),
    [
        (b"", 0, "cannot be read"),
        (msgpack.encode([FORMAT, 0, 0]), 0, "cannot be read"),
        (b"\x91\x63", 0, "format 99"),
        (None, 1, "shard 0, not of shard 1"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(header: bytes | None, shard: int, sentence: str) -> None:
    good, slots = saved_core()
    with pytest.raises(StateError, match=sentence):
        FusionCore.restore(STREAMS, Limits(), shard, good if header is None else header, slots.values())


def test_slots_that_are_missing_or_damaged_and_streams_taken_away_are_refused() -> None:
    header, slots = saved_core()
    for kept, sentence in (
        ([slots[FIRST_NUMBER]], "1 live journal slots are missing, the first is 0"),
        ([slots[0]], f"1 live journal slots are missing, the first is {FIRST_NUMBER}"),
        ([slots[0][:-1]], "a journal slot cannot be read"),
        ([slots[0], slots[FIRST_NUMBER][:-1]], "a journal slot cannot be read"),
        ([b"\x91\x63"], "a journal slot has format 99"),
    ):
        with pytest.raises(StateError, match=sentence):
            FusionCore.restore(STREAMS, Limits(), 0, header, kept)
    # nor can the file say something else of a stream that no record has declared
    with pytest.raises(StateError, match="was made with stream 's' declared with max_delay_s 10"):
        FusionCore.restore({"p": STREAMS["p"]}, Limits(), 0, header, slots.values())
