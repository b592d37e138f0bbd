"""How often chance gives matches of three and more roles: what records say, against chance itself and the budget."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching import chance_rates
from coincide.fusion.records.kafka_records import InputRecord
from coincide.places import FramePlace
from coincide.thresholds.offset_volumes import GraphRows, volumes_work
from tests.coincide.fusion.inputs import STREAMS, Row, frame, poisson_frames, put, query_json, started
from tests.coincide.fusion.outputs import SavedCore, matches
from tests.reference.call_counts import CallCounts

HOUR_S = 3600
LATE = Histogram([-3, -1, 0], [0.3, 0.7])
FOUR_STREAMS = {**STREAMS, **{name: Stream(name, max_delay_s=20, longest_template_s=8) for name in "tu"}}


def graph_json(form: str, streams: str, window_s: float = 2.0, **more: Any) -> dict[str, Any]:
    roles = dict(zip("abcd", streams, strict=False))
    return {"id": "graph", "from": roles, "form": form, "within": [{"window_s": window_s}], "sensors": "any", **more}


def edges_at(query: dict[str, Any], threshold: float) -> dict[str, Any]:
    return {**query, "within": [{**edge, "threshold": threshold} for edge in query["within"]]}


def fused(query: dict[str, Any], frames: list[InputRecord], at_once: int = 10, **more: Any) -> list[dict[str, Any]]:
    core = started(put(0, query), streams=FOUR_STREAMS, **more)
    batches = [frames[n : n + at_once] for n in range(0, len(frames), at_once)]
    return [match for batch in batches for match in matches(core.push(batch))]


CASES = {
    "path of three": (edges_at(graph_json("path", "pst"), 0.3), 0.15),
    "path of one stream": (edges_at(graph_json("path", "ppp"), 0.3), 0.2),
    "clique of three": (edges_at(graph_json("clique", "pst"), 0.3), 0.2),
    "set of three of one stream": (edges_at(graph_json("clique", "ppp", sensors="different"), 0.3), 0.3),
    "jointly": (graph_json("clique", "pst", joint_threshold=0.3), 0.2),
    "clique of four": (edges_at(graph_json("clique", "pstu", 3.0), 0.3), 0.15),
}


@pytest.mark.parametrize("case", CASES)
def test_the_chance_rate_tells_how_many_matches_chance_gives(case: str) -> None:
    """Detections that have nothing to do with each other: as many matches as improbable come as the rate says."""
    query, rate_hz = CASES[case]
    of_streams = {"p": ["north", "south", "east"]}
    sources = [
        (sensor, stream, LATE, rate_hz / len(of_streams.get(stream, ["x"])))
        for stream in sorted(set(query["from"].values()))
        for sensor in of_streams.get(stream, ["x"])
    ]
    seconds = 2 * HOUR_S
    found = fused(query, poisson_frames(np.random.default_rng(2016), sources, seconds))
    begin_s = 1_000_000
    at_s = np.array([match["members"][0]["detected_at_us"] // 10**6 - begin_s for match in found])
    probability = np.array([match["probability"] for match in found])
    # a match says what has been counted before it: those of the second hour know its rates best
    told = [found[nth] for nth in np.flatnonzero(at_s > HOUR_S) if found[nth]["chance_rate_hz"] is not None]
    looked_at = 0
    for match in told:
        level = np.floor(match["probability"] * 100) / 100
        counts = np.bincount(at_s[probability >= level] // 600, minlength=12)
        if counts.sum() >= 40 and match["probability"] < 1:
            looked_at += 1
            rate_hz = match["chance_rate_hz"]
            counting_hz = counts.std(ddof=1) * np.sqrt(len(counts)) / seconds
            # about 500 detections of each stream: the rates themselves are off by some 5 % each
            of_rates_hz = 0.05 * np.sqrt(len(query["from"])) * rate_hz
            error_hz = np.sqrt(counting_hz**2 + match["chance_rate_error_hz"] ** 2 + of_rates_hz**2)
            assert counts.sum() / seconds == pytest.approx(rate_hz, abs=3 * error_hz)
    assert looked_at > 20


WATCHED = frame(
    0,
    [
        Row("first", 1.0),
        *(Row(f"{stream}{nth}", 61.0 + nth, stream=stream, sensor=stream) for nth, stream in enumerate("pstu")),
        Row("next", 125.0),
    ],
)


def told(query: dict[str, Any], *rows: Row, **more: Any) -> dict[str, Any]:
    return fused(query, [WATCHED, frame(1, list(rows))], **more)[-1]


def test_two_of_three_have_the_rate_of_a_pair() -> None:
    rows = [Row("p", 130.0, LATE), Row("s", 130.5, LATE, "s", "south")]
    two = told(edges_at(graph_json("clique", "pst", at_least=2), 0.2), *rows)
    pair = told(query_json(2.0, 0.2, sensors="any"), *rows)
    assert [member["role"] for member in two["members"]] == ["a", "b"]
    assert two["chance_rate_hz"] == pair["chance_rate_hz"] > 0
    assert two["chance_rate_error_hz"] == 0
    assert "chance_rate_error_hz" not in pair
    of_one = told(edges_at(graph_json("clique", "ppp", at_least=2), 0.2), *(Row(f"n{n}", 130.0, LATE) for n in "01"))
    pair_of_one = told(query_json(2.0, 0.2, ("p", "p"), "any"), *(Row(f"n{n}", 130.0, LATE) for n in "01"))
    assert of_one["chance_rate_hz"] == pair_of_one["chance_rate_hz"] > 0


def test_a_path_is_the_product_of_its_edges() -> None:
    rows = [Row("p", 130.0), Row("s", 130.5, stream="s", sensor="south"), Row("t", 131.0, stream="t", sensor="tower")]
    path = told(edges_at(graph_json("path", "pst"), 0.5), *rows)
    # one detection of each stream was counted in one minute, and 4.000001 s of offsets match
    assert path["chance_rate_hz"] == pytest.approx(60**-3 * 4.000001**2, rel=1e-5)
    assert (path["chance_rate_error_hz"], path["unknown"]) == (0, {"occurred": "graph"})
    clique = told(edges_at(graph_json("clique", "pst"), 0.5), *rows)
    assert clique["chance_rate_hz"] == pytest.approx(60**-3 * 12, abs=3 * clique["chance_rate_error_hz"])
    assert clique["chance_rate_error_hz"] < 0.03 * clique["chance_rate_hz"]
    assert "unknown" not in clique


def test_what_is_not_known_has_its_reason() -> None:
    rows = [Row("p", 130.0), Row("s", 130.5, stream="s", sensor="south"), Row("t", 131.0, stream="t", sensor="tower")]
    plain = edges_at(graph_json("path", "pst"), 0.5)
    equal = {**plain, "equal": "attributes.of"}
    same = [Row(row.id, row.at_s, row.template, row.stream, row.sensor, (("of", 1),)) for row in rows]
    [unwatched] = fused(plain, [frame(0, rows)])
    filtered = {**plain, "from": {**plain["from"], "a": {"stream": "p", "sensors": ["north"]}}}
    dear = told(plain, *rows, limits=Limits(max_advisory_work=1))
    few = edges_at(graph_json("path", "pst"), 0.4)
    unsure = [Row(row.id, row.at_s, LATE, row.stream, row.sensor) for row in rows]
    for match, reason in [
        (unwatched, "not_watched_yet"),
        (told(equal, *same), "equal"),
        (told(filtered, *rows), "filtered"),
        (told(few, *unsure, limits=Limits(max_advisory_work=1)), "too_much_work"),
    ]:
        assert match["chance_rate_hz"] is None
        assert "chance_rate_error_hz" not in match
        assert match["unknown"]["chance_rate_hz"] == reason
    assert dear["chance_rate_hz"] is not None  # it is certain: that takes no work


def of_its_own(rng: np.random.Generator, buckets: int) -> Histogram:
    edges_s = np.cumsum(0.5 + rng.random(buckets + 1))
    return Histogram((edges_s / edges_s[-1] - 0.5) * 4, rng.dirichlet(np.ones(buckets)))


def burst(buckets: int, frames: int, rows: int = 5) -> list[InputRecord]:
    rng = np.random.default_rng(buckets)
    return [
        frame(
            1 + nth,
            [
                Row(f"{nth}-{row}", 130 + 0.5 * (rows * nth + row), of_its_own(rng, buckets), sensor=f"s{row}")
                for row in range(rows)
            ],
        )
        for nth in range(frames)
    ]


BURSTS = {
    "edges": edges_at(graph_json("clique", "ppp", 1.5), 0.2),
    "joint": graph_json("clique", "ppp", 1.5, joint_threshold=0.2),
    "two of three": graph_json("clique", "ppp", 1.5, joint_threshold=0.2, at_least=2),
}


@pytest.mark.parametrize("form", BURSTS)
def test_the_work_of_a_burst_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    counts = CallCounts(monkeypatch)

    def of_volumes(_: object, rows: GraphRows) -> int:
        return round(float(volumes_work(rows).sum()))

    counts.watch(chance_rates, "offset_volumes", "chance", of_volumes)
    limits = Limits(max_advisory_work=50_000, max_advisory_work_of_frame=80_000)
    records = fused(BURSTS[form], [WATCHED, *burst(8, frames=3)], limits=limits)
    rates = [match["chance_rate_hz"] for match in records]
    assert len(records) > 20
    assert 0 < counts["chance"] <= 3 * 80_000
    assert 0 < rates.count(None) < len(rates)
    assert {match["unknown"]["chance_rate_hz"] for match in records if match["chance_rate_hz"] is None} == {
        "too_much_work"
    }


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(sorted(BURSTS)), st.lists(st.integers(1, 3), min_size=2, max_size=4), st.booleans())
def test_batches_restarts_and_other_queries_change_nothing(form: str, sizes: list[int], other: bool) -> None:
    frames, limits = burst(4, frames=4), Limits(max_advisory_work=40_000, max_advisory_work_of_frame=90_000)
    puts = [put(0, BURSTS[form])] + [put(1, {**BURSTS["two of three"], "id": "other"})] * other
    at_once = started(*puts, WATCHED, limits=limits)
    expected = [match for match in matches(at_once.push(frames)) if match["query"] == "graph"]
    assert 0 < sum(match["chance_rate_hz"] is None for match in expected) < len(expected)
    core, saved, records = started(put(0, BURSTS[form]), WATCHED, limits=limits), SavedCore(limits=limits), []
    saved.save(core)
    ends = [0, *np.cumsum(sizes).tolist(), len(frames)]
    for start, end in pairwise(ends):
        records += matches(core.push(frames[start:end]))
        saved.save(core)
        core = saved.restored()
    assert records == expected


CORNERS = {"p": FramePlace(0, 0), "s": FramePlace(343, 0), "t": FramePlace(171.5, 171.5 * 3**0.5)}


@pytest.mark.parametrize("streams", ["ps", "pst"])
def test_where_all_are_as_far_apart_windows_by_distance_tell_what_a_fixed_one_does(streams: str) -> None:
    rng = np.random.default_rng(8)
    rows = [
        Row(f"{stream}{nth}", 1e6 + at_s, LATE, stream, stream, place=CORNERS[stream])
        for stream in streams
        for nth, at_s in enumerate(rng.uniform(0, 300, 60))
    ]
    rows.sort(key=lambda row: row.at_s)
    frames = [frame(nth, rows[nth : nth + 20], received_at_s=1e9) for nth in range(0, len(rows), 20)]
    fixed = edges_at(graph_json("clique", streams, 1.2), 0.3)
    distance = {**fixed, "within": [{"speed_m_s": 343, "slack_s": 0.2, "up_to_m": 900, "threshold": 0.3}]}
    wanted, found = fused(fixed, frames), fused(distance, frames)
    told = ("id", "probability", "chance_rate_hz", "chance_rate_error_hz")
    assert [[each.get(name) for name in told] for each in found] == [
        [each.get(name) for name in told] for each in wanted
    ]
    assert sum(each["chance_rate_hz"] is not None for each in found) > 5
    if streams == "ps":
        assert [each["occurred"] for each in found] == [each["occurred"] for each in wanted]
