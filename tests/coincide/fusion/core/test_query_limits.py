"""Limits of queries: the detection that breaks one suspends the query in its area, and nothing else changes."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from coincide import Histogram
from coincide.fusion.control.host import Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.core import area_rates
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.readings import window_records
from coincide.joins.search.search import Search
from deploy.host.machine import ROOT
from services.common.engine.fusion_settings import FusionSettings
from tests.coincide.fusion import outputs
from tests.coincide.fusion.inputs import STREAMS, Row, edge, frame, put, query_json, removal, started
from tests.coincide.fusion.outputs import SavedCore, matches, pairs, status
from tests.reference.call_counts import CallCounts

FEW = Limits(sweep_after=1, max_matches_per_detection=2, max_candidates_per_detection=3, max_matches_per_s=5)
CLIQUE = {
    "id": "near",
    "from": {"a": "p", "b": "s", "c": "p"},
    "within": [{"between": [*pair], **edge(2.0, 0.6)} for pair in ("ab", "bc", "ac")],
    "sensors": "any",
}


def at(*names: str, at_s: float = 1000.0, stream: str = "p") -> list[Row]:
    return [Row(name, at_s, stream=stream) for name in names]


def suspended(output: Any, name: str = "near") -> dict[str, Any]:
    found: dict[str, Any] = status(output)["queries"][name].get("suspended", {})
    return found


def test_a_detection_that_completes_too_many_matches_suspends_the_query_from_there_on() -> None:
    core = started(put(0, query_json()), limits=FEW)
    rows = [*at("p1"), *at("s1", stream="s"), *at("p2", "p3"), *at("s2", stream="s"), *at("p4")]
    output = core.push([frame(0, rows, received_at_s=1007.5)])
    assert pairs(output) == [("p1", "s1"), ("p2", "s1"), ("p3", "s1")]
    why = {"limit": "max_matches_per_detection", "allowed": 2, "reached": 3, "received_at_us": 1_007_500_000}
    assert suspended(output) == {"bay": {**why, "area": "bay", "sensor": "north", "id": "s2"}}
    assert pairs(core.push([frame(1, at("p5"))])) == []


def test_other_areas_and_queries_go_on() -> None:
    core = started(put(0, query_json()), put(1, query_json(threshold=0.5, name="far")), limits=FEW)
    core.push(
        [put(2, {**query_json(name="far"), "limits": {"max_matches_per_detection": 9, "max_matches_per_s": 9}}, 2)]
    )
    output = core.push([frame(0, [*at("p1", "p2", "p3"), *at("s1", stream="s")]), frame(1, at("p1"), "hill", 3)])
    assert [match["query"] for match in matches(output)] == ["far"] * 3
    assert suspended(output, "far") == {}
    assert list(suspended(output)) == ["bay"]
    after = core.push([frame(2, at("s1", stream="s"), "hill", 3), frame(2, at("s2", stream="s"))])
    assert {(match["query"], match["area"]) for match in matches(after)} == {
        *(("near", "hill"), ("far", "hill"), ("far", "bay"))
    }


def test_candidates_count_before_their_joint_probability_is_judged() -> None:
    core = started(put(0, {**CLIQUE, "joint_threshold": 1.0}), limits=FEW)
    output = core.push([frame(0, [*at("p1", "p2", "p3", "p4"), *at("s1", stream="s")])])  # six pairs of p with s1
    assert pairs(output) == []
    [why] = suspended(output).values()
    assert (why["limit"], why["allowed"], why["id"]) == ("max_candidates_per_detection", 3, "s1")


def test_matches_of_one_second_of_received_time_are_counted_over_frames_and_restarts() -> None:
    saved = SavedCore(limits=FEW)
    core = started(limits=FEW)
    for nth, members in enumerate((at("p1", "p2"), at("s1", stream="s"), at("s2", stream="s"))):
        output = core.push([put(0, query_json()), frame(nth, members, received_at_s=1000.1)])
        assert len(pairs(output)) == (2 if nth else 0)
        saved.save(core)
    for each in (core, saved.restored()):
        assert [suspended(each.push([frame(3, at("s3", stream="s"), received_at_s=1000.9)]))["bay"]["reached"]] == [6]
    again = saved.restored()
    assert len(pairs(again.push([frame(3, at("s3", stream="s"), received_at_s=1001.0)]))) == 2


def test_a_newer_version_lifts_the_suspension_and_begins_anew() -> None:
    core = started(put(0, query_json()), frame(0, [*at("p1", "p2", "p3"), *at("s1", stream="s")]), limits=FEW)
    assert pairs(core.push([put(1, query_json(), 1), frame(1, at("p4"))])) == []  # no newer version
    output = core.push([put(2, query_json(), 2), frame(2, [*at("s2", stream="s"), *at("p5")])])
    assert pairs(output) == [("p5", "s2")]
    assert suspended(output) == {}


def test_a_query_that_is_suspended_in_many_areas_is_suspended_everywhere() -> None:
    core = started(put(0, query_json()), limits=FEW)
    burst = [*at("p1", "p2", "p3"), *at("s1", stream="s")]
    output = core.push([frame(nth, burst, f"area-{nth}") for nth in range(30)])
    assert list(suspended(output)) == [*(f"area-{nth}" for nth in range(16)), ""]
    assert suspended(output)[""]["area"] == "area-16"
    assert pairs(core.push([frame(30, [*at("p1"), *at("s1", stream="s")], "new")])) == []


def test_candidates_beyond_the_limit_are_counted_but_never_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    work = CallCounts(monkeypatch)
    work.watch(Search, "_at_least_jointly", "judged", lambda _, search, members, threshold: len(members))
    core = started(put(0, {**CLIQUE, "joint_threshold": 0.5}), limits=Limits(max_candidates_per_detection=100))
    rows = [*at(*(f"p{nth}" for nth in range(14))), *at("s1", stream="s"), *at("p14", "p15", "p16")]
    assert len(matches(core.push([frame(0, rows)]))) == 91 + 14 + 15 + 16  # s1 with two of 14; p with s1 and another
    assert work["judged"] == 136
    more = started(put(0, {**CLIQUE, "joint_threshold": 0.5}), limits=Limits(max_candidates_per_detection=90))
    assert matches(more.push([frame(0, rows)])) == []
    assert work["judged"] == 136


@pytest.mark.parametrize("size", [1, 9])
def test_sets_that_are_looked_at_count_and_other_queries_go_on(size: int) -> None:
    roles = dict.fromkeys("abcd", "p")
    dense = {"id": "dense", "from": roles, "form": "clique", "within": [{"window_s": 3}], "joint_threshold": 0.01}
    crowd = [Row(f"p{n}", 1000 + n / 100, Histogram.uniform(-1, 1), sensor=f"s{n}") for n in range(9)]
    queries = put(0, query_json(5, 0.1, ("p", "p"))), put(1, {**dense, "at_least": 2})
    core = started(*queries, limits=Limits(max_candidates_per_detection=20))
    outputs = [core.push([frame(n, crowd[n : n + size])]) for n in range(0, 9, size)]
    [why] = suspended(outputs[-1], "dense").values()
    assert (why["limit"], why["id"]) == ("max_candidates_per_detection", "p5")
    found = [match for output in outputs for match in matches(output)]
    assert sum(match["query"] == "near" for match in found) == 9 * 8 // 2
    assert max(max(member["id"] for member in match["members"]) for match in found if match["query"] == "dense") == "p4"


def test_one_detection_among_many_never_costs_more_than_its_limit() -> None:
    """A million triples would be written out; the search ends where the limit is broken."""
    core = started(put(0, CLIQUE), limits=Limits(max_candidates_per_detection=50, max_matches_per_detection=1_000))
    quiet = [*at(*(f"p{nth}" for nth in range(9)), at_s=1000), *at("s", stream="s")]
    rows = [*quiet, *at(*(f"q{nth}" for nth in range(1_000)), at_s=1001), *at("t", stream="s")]
    output = core.push([frame(0, rows)])
    assert len(matches(output)) == 36 + sum(range(9, 51))  # s with two of nine; then q0 with s and one of nine, ...
    assert suspended(output)["bay"]["id"] == "q42"


def test_what_a_query_costs_is_told() -> None:
    core = FusionCore(STREAMS, Limits(max_query_s=1_000, max_push_s=9_000), 0, clock_s=ticking(1.0))
    core.push([put(0, {**CLIQUE, "joint_threshold": 1.0}), put(1, {**CLIQUE, "id": "set", "at_least": 2})])
    output = core.push([frame(0, [*at("p1", "p2", "p3", "p4"), *at("s1", stream="s")])])
    work = {name: query["work"] for name, query in status(output)["queries"].items()}
    assert {name: each["candidates"] for name, each in work.items()} == {"near": 6, "set": 26}
    assert all(each["seconds"] >= 3 for each in work.values())


def test_the_rates_of_areas_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    core = started(put(0, query_json()))
    for minute in range(4):
        seen = [Row(f"p{minute}-{nth}", 960 + 60 * minute + nth, stream="ps"[nth % 3 == 0]) for nth in range(30)]
        output = core.push([frame(2 * minute, seen), frame(2 * minute + 1, seen[:6], "hill", 3)])
    assert status(output)["busiest_hz"] == pytest.approx({"p": 20 / 60, "s": 10 / 60})
    bay, hill = {"p": 20 / 60, "s": 10 / 60}, {"p": 4 / 60, "s": 2 / 60}
    assert status(output)["rates_hz"]["elsewhere"] == {}
    assert status(output)["rates_hz"]["areas"] == {
        "bay": pytest.approx(bay, rel=1e-5),
        "hill": pytest.approx(hill, rel=1e-5),
    }
    monkeypatch.setattr(area_rates, "MOST_AREAS", 1)
    output = core.push([frame(8, [Row("p9", 1300)]), frame(9, [Row("p9", 1300)], "hill", 3)])
    rates = status(output)["rates_hz"]
    assert list(rates["areas"]) == ["bay"]
    assert rates["elsewhere"].keys() == hill.keys()


def test_the_defaults_are_those_that_the_docs_say_and_the_settings_have() -> None:
    semantics = (ROOT / "docs" / "explanation" / "semantics.md").read_text(encoding="utf-8")
    settings = FusionSettings()
    said = re.findall(r"^\| `(max_\w+)` \|.*\| ([\d,]+) \|$", semantics, re.MULTILINE)
    assert len(said) == 3
    for name, number in [*said, ("max_query_s", "5")]:
        assert getattr(Limits(), name) == getattr(settings, name) == int(number.replace(",", ""))


def roles(count: int, first: str = "p") -> dict[str, str]:
    return {f"r{nth}": first if nth == 0 else "p" for nth in range(count)}


def clique(count: int, **more: Any) -> dict[str, Any]:
    return {"from": roles(count), "form": "clique", "within": [{"window_s": 5}], **more}


def tree(*edges: tuple[int, int], count: int, first: str = "p", **more: Any) -> dict[str, Any]:
    within = [{"between": [f"r{a}", f"r{b}"], "window_s": 5 + a / 8, "threshold": 0.1} for a, b in edges]
    return {"from": roles(count, first), "within": within, **more}


PATH, STAR = [(nth, nth + 1) for nth in range(7)], [(0, nth) for nth in range(1, 8)]
WORST: dict[str, dict[str, Any]] = {
    "every-pair": {"from": roles(2), "within": [{"between": ["r0", "r1"], "window_s": 600, "threshold": 0.1}]},
    "sixteen-at-once": clique(16, joint_threshold=0.1),
    "two-of-sixteen": clique(16, joint_threshold=0.1, at_least=2),
    "fifteen-of-sixteen": clique(16, joint_threshold=0.01, at_least=15),
    "all-of-four": clique(4, within=[{"window_s": 5, "threshold": 0.1}], at_least=2),
    "a-path": tree(*PATH, count=8),
    "a-path-judged-all-together": tree(*PATH[:5], count=6, joint_threshold=0.1),
    "a-star": tree(*STAR, count=8, first="s"),
    "a-star-judged-all-together": tree(*STAR[:4], count=5, first="s", joint_threshold=0.01),
    "a-cycle": tree((0, 1), (1, 2), (2, 3), (3, 0), count=4, joint_threshold=0.01),
}


def test_the_worst_queries_take_nothing_from_the_others() -> None:
    """Each ends where a limit of counted work is broken, or by a clock that ticks whenever it is asked."""
    rows = [
        Row(f"d{nth}", 1000 + nth / 40, Histogram.uniform(-1, 1), "ps"[nth % 4 == 0], f"x{nth % 5}")
        for nth in range(80)
    ]
    frames = [frame(nth, rows[nth : nth + 20]) for nth in range(0, 80, 20)]
    limits = Limits(max_candidates_per_detection=1_000, max_matches_per_detection=100, max_matches_per_s=1_000)
    quiet = started(put(0, query_json(1.5, 0.8)), limits=limits)
    worst = [put(1 + nth, {"id": name, "sensors": "any", **query}) for nth, (name, query) in enumerate(WORST.items())]
    core = FusionCore(STREAMS, limits, 0, clock_s=ticking(0.2))
    core.push([put(0, query_json(1.5, 0.8)), *worst])
    for each in frames:
        output = core.push([each])
        expected = [match.value for match in quiet.push([each]).matches]
        assert [match.value for match in output.matches if json.loads(match.value)["query"] == "near"] == expected
    assert len(expected) > 100
    assert {name for name in WORST if not suspended(output, name)} == set()
    assert suspended(output) == {}


def test_a_burst_of_a_hundred_thousand_matches_ends_at_the_limit() -> None:
    """Every new row completes some hundred; so the limit on the second of received time ends it."""
    core = started(put(0, query_json()), frame(0, at(*(f"p{nth}" for nth in range(200)))))
    output = core.push([frame(1, at(*(f"s{nth}" for nth in range(500)), stream="s"))])
    assert len(matches(output)) == 5_000
    [why] = suspended(output).values()
    assert (why["limit"], why["reached"], why["id"]) == ("max_matches_per_s", 5_200, "s25")


# ---------------------------------------------------------------- the last resort


def ticking(step_s: float) -> Callable[[], float]:
    ticks: Iterator[int] = count()
    return lambda: next(ticks) * step_s


def test_what_takes_too_long_is_dropped_and_suspended_everywhere_and_other_answers_are_complete() -> None:
    core = FusionCore(STREAMS, Limits(max_query_s=6, max_push_s=9_000), 0, clock_s=ticking(1.0))
    core.push([put(0, {**CLIQUE, "id": "heavy", "joint_threshold": 0.1}), put(1, query_json())])
    rows = [*at("p1", "p2"), *at("s1", stream="s")]
    output = core.push([frame(0, rows, received_at_s=1010.0)])
    assert {match["query"] for match in matches(output)} == {"near"}
    assert len(matches(output)) == 2
    why = {"limit": "max_query_s", "allowed": 6, "reached": 7, "received_at_us": 1_010_000_000}
    assert suspended(output, "heavy") == {"": {**why, "area": None, "sensor": None, "id": None}}
    assert status(output)["queries"]["heavy"]["matches"] == 0
    assert suspended(output) == {}


def test_a_suspended_query_can_be_removed_and_holds_no_detections() -> None:
    core = FusionCore(STREAMS, Limits(max_query_s=1, sweep_after=1), 0, clock_s=ticking(1.0))
    core.push([put(0, query_json(window_s=600))])
    core.push([frame(0, [*at("p1"), *at("s1", stream="s")])])
    output = core.push([frame(1, at("tick", at_s=1100.0))])
    assert status(output)["buffered"] == {"p": 1, "s": 0}
    assert status(core.push([removal(2)]))["queries"] == {}


def test_what_a_newer_version_to_come_stops_gives_no_answers_before_it_and_others_do() -> None:
    core = started(put(0, query_json()), put(1, query_json(name="far")))
    rows = [*at("p1"), *at("s1", stream="s")]
    output = core.push([frame(0, rows)], Host(lambda: {"near": 2, "far": 1}))
    assert [match["query"] for match in matches(output)] == ["far"]
    assert status(output)["queries"]["near"]["paused"] is False
    resumed = core.push([put(2, query_json(), 3), frame(1, at("p2"))], Host(lambda: {"near": 2}))
    assert {match["query"] for match in matches(resumed)} == {"near", "far"}


def test_windows_over_readings_that_take_too_long_are_dropped_and_their_query_is_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window_records, "ROWS_AT_ONCE", 1)
    window = {"time_s": 2, "slide_s": 2}
    coalesce = {"from": "p", "by": "sensor", "value": "attributes.celsius", "window": window}
    core = FusionCore(STREAMS, Limits(max_query_s=6, max_push_s=9_000), 0, clock_s=ticking(1.0))
    core.push([put(0, {"id": "hot", "coalesce": coalesce, "longest": True})])
    first = [Row(f"r{nth}", 1000.0 + nth, attributes=(("celsius", 1),)) for nth in range(8)]
    core.push([frame(0, first)])
    output = core.push([frame(1, [Row("tick", 1100.0, attributes=(("celsius", 1),))])])
    assert output.episodes == []
    assert suspended(output, "hot")[""]["limit"] == "max_query_s"
    hot = (("celsius", 1),)
    core.push(
        [put(1, {"id": "hot", "coalesce": coalesce, "longest": True}, 2), frame(2, [Row("t", 1121.0, attributes=hot)])]
    )
    output = core.push([frame(3, [Row("tick", 1200.0, attributes=hot)])])
    assert [answer["start_us"] for answer in outputs.episodes(output)] == [1_121_000_000, 1_122_000_000]
