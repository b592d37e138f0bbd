"""Sensors that share clocks, in the core: matches of gateways whose clocks are wrong by half a minute."""

import numpy as np
import pytest

from coincide import ConstraintGraph, Histogram, Stream, Window, joint_probabilities, match_probability, occurred
from coincide.clocks import Clock, clock_offsets
from coincide.fusion.control.limits import Limits
from tests.coincide.fusion.inputs import MICROSECONDS, Row, frame, put, query_json, started
from tests.coincide.fusion.outputs import SavedCore, matches, pairs

OWN = Histogram.uniform(-0.05, 0.05)
GATEWAY = Clock("gw-7", Histogram.uniform(-30, 30)).template(OWN)
OTHER = Clock("gw-8", Histogram.uniform(-30, 30)).template(OWN)
STREAMS = {name: Stream(name, max_delay_s=20, longest_template_s=61) for name in "ps"}
CLIQUE = {
    "id": "near",
    "from": dict.fromkeys("abc", "p"),
    "within": [{"between": list(pair), "window_s": 1.0} for pair in ("ab", "ac", "bc")],
    "joint_threshold": 0.02,
}


def row(id_: str, at_s: float, sensor: str, template: Histogram, stream: str = "p") -> Row:
    return Row(id_, 1000 + at_s, template, stream, sensor)


ROWS = [
    row("7a", 0.0, "one", GATEWAY),
    row("7b", 0.3, "two", GATEWAY, "s"),
    row("7c", 20.0, "two", GATEWAY, "s"),
    row("8a", 0.1, "three", OTHER, "s"),
]


def test_what_the_sensors_of_a_gateway_report_together_did_happen_together() -> None:
    output = started(put(0, query_json(1.0, 0.02)), streams=STREAMS).push([frame(0, ROWS)])
    assert sorted(pairs(output)) == [("7a", "7b"), ("7a", "8a")]
    by_pair = dict(zip(pairs(output), matches(output), strict=True))
    same, apart = by_pair["7a", "7b"], by_pair["7a", "8a"]
    assert same["probability"] == 1.0
    assert apart["probability"] == pytest.approx(match_probability(GATEWAY, OTHER, 0.1, Window(1)), abs=1e-9)
    when = occurred([GATEWAY, GATEWAY], [1000 * MICROSECONDS, 1000_300_000], Window(1))
    assert (same["occurred"]["mean_us"], same["occurred"]["p95_us"]) == (when.mean_us, when.p95_us)
    assert same["occurred"]["std_s"] > 17  # nobody knows by how much the clock is wrong
    assert "clocks" not in same["occurred"]  # it cancels
    assert apart["occurred"]["clocks"] == told_of([GATEWAY, OTHER], [0, 100_000])


def test_a_tuple_of_two_on_a_clock_and_one_elsewhere() -> None:
    rows = [row("7a", 0.0, "one", GATEWAY), row("7b", 0.3, "two", GATEWAY), row("x", 12.0, "four", OWN)]
    (match,) = matches(started(put(0, CLIQUE), streams=STREAMS).push([frame(0, rows)]))
    graph = ConstraintGraph.clique("abc", Window(1))
    at_us = np.array([[each.at_us] for each in rows])
    joint = joint_probabilities(graph, [[each.template] for each in rows], np.zeros((3, 1), int), at_us)
    assert match["joint"]["probability"] == pytest.approx(joint.value[0], abs=1e-9)
    assert match["occurred"]["mean_us"] == pytest.approx(1011.85 * MICROSECONDS, abs=0.3 * MICROSECONDS)
    assert match["occurred"]["clocks"] == told_of([each.template for each in rows], [0, 300_000, 12_000_000])
    [clock] = match["occurred"]["clocks"]
    assert clock["id"] == "gw-7"
    assert clock["mean_s"] == pytest.approx(11.85, abs=0.1)
    assert clock["p05_s"] < clock["mean_s"] < clock["p95_s"]


OF_GATEWAY, OF_BOTH = {("7a", "x"): ["gw-7"]}, {("7a", "8a"): ["gw-7", "gw-8"], ("7a", "x"): ["gw-7"]}


@pytest.mark.parametrize(("budget", "affordable"), [(24_999, {}), (25_000, OF_GATEWAY), (50_000, OF_BOTH)])
def test_how_slow_clocks_were_is_told_as_far_as_the_budget_goes(
    budget: int, affordable: dict[tuple[str, ...], list[str]]
) -> None:
    rows = [row("7a", 0.0, "one", GATEWAY), row("8a", 0.1, "two", OTHER, "s"), row("x", 12.0, "three", OWN, "s")]
    limits = Limits(max_advisory_work=budget, max_advisory_work_of_frame=10 * budget)
    output = started(put(0, query_json(1.0, 0.02)), streams=STREAMS, limits=limits).push([frame(0, rows)])
    by_pair = dict(zip(pairs(output), matches(output), strict=True))
    assert sorted(by_pair) == sorted(OF_BOTH)
    assert all(match["occurred"] for match in by_pair.values())  # that is charged by itself
    told = {ids: [each["id"] for each in match["occurred"].get("clocks", [])] for ids, match in by_pair.items()}
    assert {ids: clocks for ids, clocks in told.items() if clocks} == affordable
    why = {ids: match["unknown"].get("clocks") for ids, match in by_pair.items()}
    assert why == {ids: None if ids in affordable else "too_much_work" for ids in OF_BOTH}


def told_of(templates: list[Histogram], at_us: list[int]) -> list[dict[str, float | str]]:
    """Return what a record says of the clocks."""
    return [
        {"id": each.clock, **{name: round(getattr(each, name), 6) for name in ("mean_s", "std_s", "p05_s", "p95_s")}}
        for each in clock_offsets(templates, at_us, Window(1))
    ]


def test_neither_batches_nor_a_restart_change_it() -> None:
    whole = started(put(0, query_json(1.0, 0.02)), streams=STREAMS).push([frame(0, ROWS)])
    fused = started(put(0, query_json(1.0, 0.02)), streams=STREAMS)
    saved = SavedCore(STREAMS)
    first = fused.push([frame(0, ROWS[:2])])
    saved.save(fused)
    rest = saved.restored().push([frame(1, ROWS[2:])])
    assert [(match["id"], match["occurred"]) for output in (first, rest) for match in matches(output)] == [
        (match["id"], match["occurred"]) for match in matches(whole)
    ]
