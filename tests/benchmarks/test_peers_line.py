"""The load of the contest, its pairs by an obvious twin, its records, and what is said of results that are wrong."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.peers_line import contest, installation
from benchmarks.peers_line.contestants import CONTESTANTS, QUERY, Contestant, Job
from benchmarks.peers_line.load import (
    AREAS,
    STREAMS,
    WINDOW_MS,
    Detections,
    chunks,
    detections,
    frames,
    pair_numbers,
    pairs,
    plain_records,
)
from benchmarks.peers_line.watching import Answer, Meter, Steady, Used, judged, match_pair, numbers
from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord

RIGHT = Answer(5, 0, 0, 0)
OURS = next(each for each in CONTESTANTS if each.is_ours)
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 20)), max_size=40)


def columns(of: list[tuple[int, int, int]]) -> Detections:
    areas, streams, times = np.array(of, np.int64).reshape(-1, 3).T
    return Detections(np.arange(len(of)), areas, streams, times)


@settings(deadline=None)
@given(rows)
def test_pairs_are_those_of_two_loops(of: list[tuple[int, int, int]]) -> None:
    found = {
        (one, other)
        for one, (area, stream, time_ms) in enumerate(of)
        for other, (its_area, its_stream, its_ms) in enumerate(of)
        if area == its_area and (stream, its_stream) == (0, 1) and abs(time_ms - its_ms) <= WINDOW_MS
    }
    assert set(pairs(columns(of)).tolist()) == set(numbers(found).tolist())


def test_a_load_is_in_order_and_as_fast_as_asked() -> None:
    load = detections(20_000, rate=5_000.0, first_id=7)
    assert (np.diff(load.times_ms) >= 0).all()
    assert np.ptp(load.times_ms) == pytest.approx(4_000, abs=5)
    assert (load.ids[0], load.ids[-1]) == (7, 20_006)
    assert len(np.unique(load.areas)) == AREAS


def test_chunks_hold_one_area_each_and_come_when_they_are_complete() -> None:
    load = detections(5_000, rate=5_000.0)
    cut = list(chunks(load, 20))
    assert all(len(np.unique(each.areas)) == 1 and len(each.ids) <= 20 for each in cut)
    assert np.array_equal(np.sort(np.concatenate([each.ids for each in cut])), load.ids)
    assert (np.diff([each.times_ms[-1] for each in cut]) >= 0).all()


@pytest.mark.parametrize(("size", "is_batched"), [(1, False), (1, True), (20, True)])
def test_what_peers_read_is_the_load(size: int, is_batched: bool) -> None:
    load, found = detections(500, rate=5_000.0), []
    for chunk in chunks(load, size):
        for record in plain_records(chunk, 99, is_batched=is_batched):
            value = json.loads(record.value)
            items = value["detections"] if is_batched else [value]
            area, stream = int(value["area"].removeprefix("area-")), STREAMS.index(record.topic)
            found += [(each["id"], area, stream, each["t"], each["sent"]) for each in items]
            assert (record.area, record.newest_ms) == (value["area"], items[-1]["t"])
            assert not is_batched or value["first"] == items[0]["t"]
    assert sorted(found) == list(zip(*(column.tolist() for column in load), [99] * 500, strict=True))


def test_our_core_finds_exactly_the_pairs_of_a_point_window() -> None:
    load = detections(4_000, rate=6_400.0)
    streams = {name: Stream(name, max_delay_s=10.0, longest_template_s=1.0) for name in STREAMS}
    core = FusionCore(streams, Limits(), shard=0)
    document = {"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": {"id": "pairs", **QUERY}}
    core.push([InputRecord("queries", 0, 0, b"pairs", json.dumps(document).encode())])
    records = [record for chunk in chunks(load, 100) for record in frames(chunk, 99)]
    inputs = [InputRecord("detections", 0, nth, of.area.encode(), of.value) for nth, of in enumerate(records)]
    came = [match_pair(json.loads(match.value)) for match in core.push(inputs).matches]
    assert {sent_us for *_, sent_us in came} == {99}
    assert judged(numbers(came), pairs(load)).words == "all"


def test_an_answer_says_what_is_missing_twice_or_wrong() -> None:
    expected = pair_numbers(np.array([1, 2, 3]), np.array([4, 5, 6]))
    found = pair_numbers(np.array([1, 1, 3, 9]), np.array([4, 4, 6, 9]))
    assert judged(found, expected) == Answer(right=2, missing=1, again=1, wrong=1)
    assert judged(found, expected).words == "2, 1 missing, 1 twice, 1 wrong"
    assert judged(numbers([]), expected).words == "0, 3 missing"
    assert judged(expected[::-1], expected).words == "all"


def test_what_is_steady_leaves_the_first_tenth_out() -> None:
    slow_start = [50.0, *(60.0 + nth for nth in range(10))]  # the first tenth has come at 60
    steady = Steady.of(slow_start, 1_100)
    assert list(steady) == [60.0, 69.0, pytest.approx(900)]
    assert steady.per_s == pytest.approx(100)
    meter = SimpleNamespace(at_s=[0.0, 60.0, 70.0], cpu_s=[0.0, 5.0, 6.0])
    assert steady.cpu_us(meter) == pytest.approx(0.9 / 900 * 1e6)  # type: ignore[arg-type]


@pytest.mark.parametrize("at_s", [[], [1.0]])
def test_where_all_came_at_once_nothing_is_steady(at_s: list[float]) -> None:
    steady = Steady.of(at_s, 1_100)
    assert steady.per_s == steady.cpu_us(SimpleNamespace(at_s=[0.0], cpu_s=[0.0])) == 0.0  # type: ignore[arg-type]


def test_a_meter_counts_children_that_have_ended() -> None:
    work = "import time\nwhile time.process_time() < 0.5: x = bytearray(50_000_000)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}]); input()"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE)
    meter = Meter([process.pid])
    deadline_s = time.monotonic() + 60
    while meter.used.cpu_s < 0.3 and time.monotonic() < deadline_s:
        time.sleep(0.05)
    process.communicate(b"\n")
    used = meter.stop()
    assert used.cpu_s >= 0.3
    assert used.peak_bytes > 50e6


def test_an_engine_that_ends_by_itself_is_told_with_its_log(tmp_path: Path) -> None:
    dying = Contestant("dying", "", [], lambda _: ([[sys.executable, "-c", "raise SystemExit('no luck')"]], {}))
    job = Job("127.0.0.1:1", "x.", "x.results", tmp_path, 1)
    with pytest.raises(SystemExit, match="dying ended: no luck"), dying.running(job) as [process]:
        process.wait(30)


def test_absent_peers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "QUIX", installation.FOLDER / "nowhere")
    quix = next(each for each in CONTESTANTS if each.name == "quix")
    assert "installation" in str(quix.why_not())
    assert OURS.why_not() is None


def test_ratios_compare_with_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([(200.0, 10.0), (50.0, 5.0), (0.0, 0.0)])
    monkeypatch.setattr(contest, "drained", lambda *_: contest.Drained(*next(costs), 1.0, Used(2.0, 3_000_000), RIGHT))
    found = list(contest.backlog_rows(None, [(each, (1, 1)) for each in CONTESTANTS[:3]]))  # type: ignore[arg-type]
    assert [row[2:4] for row in found] == [["1.00", "1.00"], ["4.00", "0.50"], ["-", "0.00"]]
    assert {len(row) for row in found} == {2 + len(contest.BACKLOG)}
