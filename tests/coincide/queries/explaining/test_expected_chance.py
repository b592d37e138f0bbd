"""Chance of queries with more than two roles, over several areas: against joins of unrelated detections."""

from typing import Any

import numpy as np
import pytest

import coincide as cc
from coincide import Detections, Edge, Histogram
from coincide.queries import Query
from coincide.queries.explaining import ExplainedQuery, KnownSensor, explain, least_threshold
from coincide.queries.explaining.expected_chance import ChanceRate, _Sampled

SPAN_S = 20_000.0
CLOCK, BUOY = Histogram.uniform(-2, 2), Histogram([-3.0, -1.0, 0.5, 2.0], [0.2, 0.7, 0.1])
PLACES = {"bay": 0.06, "hill": 0.03, "moor": 0.02}
ROLES = {"a": "p", "b": "q", "c": "r"}


def sensors() -> list[KnownSensor]:
    return [
        KnownSensor(f"{area}-{stream}", area, stream, BUOY if stream == "q" else CLOCK, rate_hz)
        for area, rate_hz in PLACES.items()
        for stream in "pqr"
    ]


def query(**others: Any) -> Query:
    pairs = [("a", "b"), ("b", "c")] + ([("a", "c")] if others.pop("is_ring", False) else [])
    threshold = {} if "joint_threshold" in others else {"threshold": others.pop("threshold", 0.2)}
    within = [{"between": list(pair), "window_s": 1.0, **threshold} for pair in pairs]
    return Query.from_json({"id": "q", "from": ROLES, "within": within, **others})


def simulated(asked: Query, seed: int, repeats: int = 5) -> float:
    """Return how many matches unrelated detections make in the time, on average."""
    rng, counts = np.random.default_rng(seed), []
    edges = [Edge(one.a, one.b, one.window, one.threshold) for one in asked.graph.edges]
    graph = cc.ConstraintGraph(asked.graph.roles, tuple(edges))
    for _ in range(repeats):
        batches = {}
        for role, stream in ROLES.items():
            times = {area: rng.uniform(0, SPAN_S, rng.poisson(hz * SPAN_S)) for area, hz in PLACES.items()}
            areas = np.repeat(np.arange(len(times)), [len(each) for each in times.values()])
            times_us = (np.concatenate([*times.values()]) * 1e6).astype(np.int64)
            batches[role] = Detections(times_us, [BUOY if stream == "q" else CLOCK], area=areas)
        counts.append(len(cc.window_join(batches, graph, threshold=asked.joint_threshold, sensors="any")))
    return float(np.mean(counts))


@pytest.mark.parametrize(
    "others",
    [{}, {"threshold": 0.35}, {"is_ring": True}, {"joint_threshold": 0.1}, {"joint_threshold": 0.05, "is_ring": True}],
)
def test_chance_is_that_of_all_areas_together(others: dict[str, Any]) -> None:
    asked = query(**others)
    chance = explain(asked, sensors()).chance
    assert chance is not None
    expected = chance.per_hour * SPAN_S / 3600
    error = chance.error_per_hour * SPAN_S / 3600
    found = simulated(asked, 5)
    assert expected > 20
    assert abs(found - expected) < 4 * np.hypot(np.sqrt(expected / 5), error)


@pytest.mark.parametrize("others", [{}, {"is_ring": True}, {"joint_threshold": 0.1}])
def test_at_the_least_threshold_chance_gives_so_few(others: dict[str, Any]) -> None:
    for per_day in (600.0, 300.0, 100.0):
        least = least_threshold(query(**others), sensors(), per_day)
        assert least is not None
        name = "joint_threshold" if "joint_threshold" in others else "threshold"
        chance = explain(query(**{**others, name: least}), sensors()).chance
        assert chance is not None
        assert 24 * chance.per_hour == pytest.approx(per_day, rel=0.15, abs=4 * 24 * chance.error_per_hour)


def test_the_more_matches_are_allowed_the_lower_is_the_threshold() -> None:
    explained = ExplainedQuery(query(), sensors())
    found = [explained.least_threshold(per_day) for per_day in (1.0, 10.0, 100.0, 1_000.0)]
    assert all(each is not None for each in found)
    assert found == sorted(found, key=lambda each: -(each or 0.0))


def test_more_templates_than_can_be_looked_at_are_judged_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    many = [
        KnownSensor(f"{stream}-{nth}", "bay", stream, Histogram.uniform(-length, length), 0.002)
        for stream in "pqr"
        for nth, length in enumerate(rng.uniform(1, 3, 40))
    ]
    whole = explain(query(), many)
    monkeypatch.setattr("coincide.queries.explaining.explained_query.MOST_WORK", 2e5)
    sampled = explain(query(), many)
    assert [edge.is_sample for edge in sampled.edges] == [True, True]
    assert sampled.chance is not None
    assert whole.chance is not None
    assert sampled.chance.per_hour == pytest.approx(whole.chance.per_hour, rel=0.1)


PAIR = {
    "id": "pair",
    "from": {"a": "p", "b": "q"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.1}],
}


@pytest.mark.parametrize(
    "asked",
    [
        Query.from_json(PAIR),
        Query.from_json({**PAIR, "from": {"a": "p", "b": "p"}, "sensors": "any"}),
        Query.from_json({**PAIR, "joint_threshold": 0.05}),
        query(threshold=0.1),
        query(threshold=0.1, is_ring=True),
        query(joint_threshold=0.05, is_ring=True),
        Query.from_json(
            {"id": "q", "from": ROLES, "form": "clique", "within": [{"window_s": 1, "threshold": 0.1}], "at_least": 2}
        ),
    ],
    ids=["pair", "self", "pair joint", "path", "ring", "joint", "two of three"],
)
def test_at_many_thresholds_it_is_what_an_explanation_says_at_each(asked: Query) -> None:
    thresholds = [0.1, 0.12, 0.2, 0.3, 0.36, 0.4, 0.95]
    told = ExplainedQuery(asked.with_threshold(0.1), sensors()).chance_at(thresholds)
    assert told is not None
    for threshold, found in zip(thresholds, told, strict=True):
        chance = explain(asked.with_threshold(threshold), sensors()).chance
        assert chance is not None
        error = float(np.hypot(found.error_per_hour, chance.error_per_hour))
        assert found.is_upper_bound == chance.is_upper_bound
        if not found.is_upper_bound:
            assert found.per_hour == pytest.approx(chance.per_hour, abs=5 * error + 1e-9)
    assert told[0].per_hour > told[3].per_hour > 0 == told[-1].per_hour


def test_where_no_point_reaches_a_threshold_chance_is_bounded_by_those_that_might() -> None:
    """Two edges of three were chosen to reach 0.5, the third never did: 3 of the heaviest such point at most."""
    weight_hz, chosen_to = np.full(32, 0.25), np.repeat([0.6, 0.2], 16)
    weight_hz[3] = 0.5
    sampled = _Sampled(weight_hz, np.full(32, 0.1), chosen_to, lacks_joint=False)
    reached = sampled.rate(0.1)
    assert reached == ChanceRate(8.25, reached.error_hz)
    assert reached.error_hz == pytest.approx(0.25)
    assert sampled.rate(0.5) == ChanceRate(1.5, 0.0, is_upper_bound=True)
    assert sampled.rate(0.7) == ChanceRate(0.0)


@pytest.mark.parametrize(("others", "per_hour"), [({}, 0.0), ({"form": "clique", "at_least": 2}, 1e-3)])
def test_a_role_that_nobody_plays_leaves_the_others(others: dict[str, Any], per_hour: float) -> None:
    two = [each for each in sensors() if each.stream != "r"]
    within = {"within": [{"window_s": 1.0, "threshold": 0.2}]} if others else {}
    chance = explain(Query.from_json({**query().to_json(), **within, **others}), two).chance
    assert chance is not None
    assert chance.per_hour >= per_hour
    assert (chance.per_hour > 0) == (per_hour > 0)
