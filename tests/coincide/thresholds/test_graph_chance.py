"""The chance rate of any graph, against the rate of pairs and against streams that chance alone made."""

from typing import Any

import numpy as np
import pytest

from coincide import ConstraintGraph, Detections, Histogram, Window, chance_rate, window_join
from coincide.errors import CoincideError
from coincide.thresholds import SensorRate, graph_chance_rate

SHARP, BROAD = Histogram.uniform(-0.5, 0), Histogram([-2, -1.5, 0.5, 1], [0.4, 0.2, 0.4])
HOURS = 10
SECONDS = HOURS * 3600


def sensors(*rates_hz: float) -> list[SensorRate]:
    return [SensorRate(f"s{nth}", (SHARP, BROAD)[nth % 2], rate) for nth, rate in enumerate(rates_hz)]


def chance_events(rng: np.random.Generator, rates: list[SensorRate]) -> Detections:
    """Detections of independent sensors with these mean rates, in random order."""
    parts = [(rng.random(rng.poisson(each.rate_hz * SECONDS)), nth) for nth, each in enumerate(rates)]
    times = np.concatenate([part for part, _ in parts])
    which = np.concatenate([np.full(len(part), nth) for part, nth in parts])
    templates = [each.template for each in rates]
    return Detections((times * SECONDS * 1e6).astype(np.int64), templates, which, sensor=which)


@pytest.mark.parametrize("rule", ["different", "same", "any"])
@pytest.mark.parametrize(("window", "threshold"), [(Window(1.0), 0.3), (Window(lo_s=-0.2, hi_s=3.0), 0.6)])
def test_two_roles_have_the_rate_of_pairs(window: Window, threshold: float, rule: Any) -> None:
    a, b = sensors(0.02, 0.01, 0.05), sensors(0.03, 0.04)
    estimate = graph_chance_rate({"a": a, "b": b}, ConstraintGraph.binary("a", "b", window, threshold), sensors=rule)
    exact = chance_rate(a, b, window, threshold, sensors=rule)
    assert estimate.rate_hz == pytest.approx(exact, abs=4 * estimate.error_hz + 1e-6 * exact)
    assert estimate.error_hz < 0.02 * exact
    graph, one = ConstraintGraph.binary("a", "b", window, threshold), dict.fromkeys("ab", "x")
    both = graph_chance_rate({"a": a, "b": a}, graph, sensors=rule, streams=one)
    exact = chance_rate(a, None, window, threshold, sensors=rule)
    assert both.rate_hz == pytest.approx(exact, abs=4 * both.error_hz + 1e-6 * exact)


WINDOWS = {("a", "b"): Window(2), ("b", "c"): Window(lo_s=-1, hi_s=4), ("a", "c"): Window(3)}
GRAPHS = {
    "path": (ConstraintGraph.path("abc", Window(lo_s=-1, hi_s=3), 0.5), None),
    "clique": (ConstraintGraph.clique("abc", WINDOWS, 0.4), None),
    "joint": (ConstraintGraph.clique("abc", Window(2)), 0.3),
    "ring": (ConstraintGraph.graph([(*pair, Window(3), 0.5) for pair in ("ab", "bc", "cd", "da")]), None),
}


@pytest.mark.parametrize("is_one_stream", [False, True])
@pytest.mark.parametrize("form", GRAPHS)
def test_streams_made_by_chance_match_as_often_as_it_says(form: str, is_one_stream: bool) -> None:
    graph, threshold = GRAPHS[form]
    rng, rates = np.random.default_rng(len(form)), sensors(0.04, 0.08, 0.06, 0.05)
    one = chance_events(rng, rates)
    batches = {role: one if is_one_stream else chance_events(rng, rates) for role in graph.roles}
    matches = len(window_join(batches, graph, threshold=threshold))
    streams = dict.fromkeys(graph.roles, "x") if is_one_stream else None
    of_roles = dict.fromkeys(graph.roles, rates)
    estimate = graph_chance_rate(of_roles, graph, threshold, streams=streams, points=65_536)
    expected = estimate.rate_hz * SECONDS
    assert expected > 50
    assert estimate.error_hz < 0.03 * estimate.rate_hz
    # matches share detections, so they spread more than as many independent events would
    assert abs(matches - expected) < 4 * (2 * np.sqrt(expected) + estimate.error_hz * SECONDS)


def test_what_has_no_rate_is_refused_or_nought() -> None:
    graph = ConstraintGraph.path("abc", Window(1), 0.5)
    assert graph_chance_rate({"a": [], "b": sensors(1.0), "c": sensors(1.0)}, graph).rate_hz == 0
    with pytest.raises(CoincideError, match="those of the graph's roles"):
        graph_chance_rate({"a": sensors(1.0)}, graph)
    with pytest.raises(CoincideError, match="or for all of them"):
        graph_chance_rate(dict.fromkeys("abc", sensors(1.0)), ConstraintGraph.path("abc", Window(1)))
