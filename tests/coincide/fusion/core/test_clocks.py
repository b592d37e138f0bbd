"""Sensors that share clocks, in the core: matches of gateways whose clocks are wrong by half a minute."""

import numpy as np
import pytest

from coincide import ConstraintGraph, Histogram, Stream, Window, joint_probabilities, match_probability, occurred
from coincide.clocks import Clock
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


def test_a_tuple_of_two_on_a_clock_and_one_elsewhere() -> None:
    rows = [row("7a", 0.0, "one", GATEWAY), row("7b", 0.3, "two", GATEWAY), row("x", 12.0, "four", OWN)]
    (match,) = matches(started(put(0, CLIQUE), streams=STREAMS).push([frame(0, rows)]))
    graph = ConstraintGraph.clique("abc", Window(1))
    at_us = np.array([[each.at_us] for each in rows])
    joint = joint_probabilities(graph, [[each.template] for each in rows], np.zeros((3, 1), int), at_us)
    assert match["joint"]["probability"] == pytest.approx(joint.value[0], abs=1e-9)
    assert match["occurred"]["mean_us"] == pytest.approx(1011.85 * MICROSECONDS, abs=0.3 * MICROSECONDS)


def test_neither_batches_nor_a_restart_change_it() -> None:
    whole = started(put(0, query_json(1.0, 0.02)), streams=STREAMS).push([frame(0, ROWS)])
    fused = started(put(0, query_json(1.0, 0.02)), streams=STREAMS)
    saved = SavedCore(STREAMS)
    first = fused.push([frame(0, ROWS[:2])])
    saved.save(fused)
    rest = saved.restored().push([frame(1, ROWS[2:])])
    assert [match["id"] for output in (first, rest) for match in matches(output)] == [
        match["id"] for match in matches(whole)
    ]
