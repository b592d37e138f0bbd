"""What `explain` says, against a twin that looks at every two sensors, a simulation of chance, and by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coincide as cc
from coincide import Detections, Histogram, Window
from coincide.queries import Query
from coincide.queries.explaining import (
    KnownSensor,
    SeenRates,
    edge_reach,
    explain,
    explained_query,
    least_threshold,
    sensor_pairs,
    sentences_of,
)
from coincide.queries.explaining.sentences import unreachable_because
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import SensorRate, chance_rate
from coincide.thresholds.peaks import attainable_of_pairs
from tests.examples import examples
from tests.reference import explaining
from tests.reference.templates import MICROSECOND, templates

SHORT, LONG = Histogram.uniform(-0.1, 0.1), Histogram.uniform(-10, 10)


def query(threshold: float = 0.5, window_s: float = 1.0, others: dict[str, Any] | None = None) -> Query:
    within = [{"between": ["a", "b"], "window_s": window_s, "threshold": threshold}]
    return Query.from_json({"id": "q", "from": {"a": "p", "b": "s"}, "within": within, **(others or {})})


def clique(roles: str = "abc", played: Any = "p", **others: Any) -> Query:
    edge = {"window_s": 1.0, **({} if "joint_threshold" in others else {"threshold": 0.5})}
    streams = played if isinstance(played, dict) and "a" in played else dict.fromkeys(roles, played)
    return Query.from_json({"id": "q", "from": streams, "form": "clique", "within": [edge], **others})


known = st.builds(
    KnownSensor,
    st.sampled_from([None, "one", "two", "three"]),
    st.sampled_from(["bay", "hill"]),
    st.sampled_from("ps"),
    st.sampled_from([Histogram.point(), Histogram.uniform(-2e-6, 1e-6), Histogram.uniform(-5e-6, 3e-6)])
    | templates(MICROSECOND, 3),
    st.sampled_from([0.0, 0.25, 2.0]),
)


@settings(max_examples=examples(60))
@given(st.lists(known, max_size=8), st.sampled_from(["different", "same", "any"]), st.sampled_from(["s", "p"]))
def test_the_figures_are_those_of_every_two_sensors(sensors: list[KnownSensor], rule: str, other: str) -> None:
    asked = query(0.4, 2e-6, {"sensors": rule, "from": {"a": "p", "b": other}})
    [edge] = explain(asked, sensors).edges
    a, b = ([each for each in sensors if each.stream == stream] for stream in ("p", other))
    count, surely, least, greatest = explaining.figures(a, b, rule, Window(2e-6), 0.4 + 1e-12)
    _, perhaps, _, _ = explaining.figures(a, b, rule, Window(2e-6), 0.4 - 1e-12)  # two sums may round differently
    assert (edge.sensor_pairs, edge.is_sample) == (count, False)
    assert surely <= (edge.reaching or 0) <= perhaps
    assert edge.share == (edge.reaching / count if count else None)
    assert (edge.least, edge.greatest) == (
        (None, None) if count == 0 else (pytest.approx(least, abs=1e-12), pytest.approx(greatest, abs=1e-12))
    )
    if edge.best is not None:
        assert edge.best.sensors in [(u.sensor, v.sensor) for u, v in explaining.allowed_pairs(a, b, rule)]


@settings(max_examples=examples(60))
@given(st.lists(known, max_size=8), st.sampled_from(["different", "same", "any"]))
def test_chance_is_that_of_the_sensors_of_each_area(sensors: list[KnownSensor], rule: Any) -> None:
    chance = explain(query(0.3, 2e-6, {"sensors": rule}), sensors).chance
    expected = 0.0
    for area in ("bay", "hill"):
        rates = [
            [
                SensorRate(each.sensor, each.template, each.rate_hz)
                for each in sensors
                if (each.stream, each.area) == key
            ]
            for key in (("p", area), ("s", area))
        ]
        expected += 3600 * chance_rate(rates[0], rates[1], Window(2e-6), 0.3, sensors=rule)
    if chance is None:
        assert not any(each.rate_hz for each in sensors)
    else:
        assert chance.per_hour == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_filter_of_names_leaves_out_sensors_and_areas() -> None:
    sensors = [KnownSensor(f"{kind}-{nth}", area, kind, SHORT) for kind in "ps" for nth, area in enumerate("xyz")]
    sensors += [KnownSensor("p-9", "x", "p", SHORT)]
    filtered = query(others={"from": {"a": {"stream": "p", "sensors": ["p-9", "p-1"]}, "b": "s"}, "areas": ["x", "z"]})
    explained = explain(filtered, sensors)
    assert [(role.sensors, role.areas) for role in explained.roles] == [(1, 1), (2, 2)]
    assert explained.edges[0].sensor_pairs == 1
    assert explained.edges[0].best.sensors == ("p-9", "s-0")  # type: ignore[union-attr]


def test_what_no_sensors_can_reach_is_said_with_the_most_that_they_attain() -> None:
    sensors = [KnownSensor("geophone", "bay", "p", LONG), KnownSensor("buoy", "bay", "s", LONG)]
    explained = explain(query(0.2, 1.0), sensors)
    assert explained.is_reachable is False
    because = unreachable_because(explained)
    assert because is not None
    assert "threshold 0.2 between a and b is out of reach: the probability is at most 0.0975" in because
    assert any("So the query can find nothing" in sentence for sentence in sentences_of(explained))
    within = explain(query(0.09, 1.0), sensors)
    assert (within.is_reachable, unreachable_because(within)) == (True, None)


def test_without_sensors_nothing_is_said_to_be_out_of_reach() -> None:
    for sensors in ([], [KnownSensor("geophone", "bay", "p", LONG), KnownSensor("buoy", "hill", "s", LONG)]):
        explained = explain(query(1.0, 0.0), sensors)
        assert (explained.is_reachable, explained.edges[0].greatest) == (None, None)
        assert any("No two sensors of one area are known" in sentence for sentence in sentences_of(explained))


def test_a_threshold_of_one_takes_windows_that_hold_both_templates() -> None:
    tails = Histogram([-3.0, -1.0, 1.0, 3.0], [1e-15, 1 - 2e-15, 1e-15])
    sensors = [KnownSensor("geophone", "bay", "p", tails), KnownSensor("buoy", "bay", "s", Histogram.point())]
    assert explain(query(1.0, 2.0), sensors).is_reachable is False
    assert explain(query(1.0, 3.0), sensors).is_reachable is True


def test_three_of_a_clique_reach_what_a_simulation_reaches() -> None:
    sensors = [KnownSensor(name, "bay", "p", Histogram.uniform(-1, 1)) for name in ("one", "two", "three")]
    joint = explain(clique(joint_threshold=0.3), sensors).joint
    assert joint is not None
    assert joint.at_least is not None
    times_s = np.random.default_rng(1).uniform(-1, 1, (3, 400_000))
    share = float(np.mean(np.ptp(times_s, axis=0) <= 1.0))  # all three reported at once
    assert joint.at_least == pytest.approx(share, abs=5e-3) == 0.5
    assert joint.at_most == pytest.approx(0.75)


@pytest.mark.parametrize(("threshold", "reachable"), [(0.49, True), (0.6, None), (0.76, False)])
def test_a_joint_threshold_is_in_reach_open_or_out_of_reach(threshold: float, reachable: bool | None) -> None:
    sensors = [KnownSensor(name, "bay", "p", Histogram.uniform(-1, 1)) for name in ("one", "two", "three")]
    assert explain(clique(joint_threshold=threshold), sensors).is_reachable is reachable


def test_with_at_least_two_the_third_role_may_be_out_of_reach() -> None:
    exact, vague = ({"stream": "p", "sensors": [glob]} for glob in ("exact-*", "vague-*"))
    of_all = clique(played={"a": exact, "b": exact, "c": vague})
    sensors = [KnownSensor(name, "bay", "p", SHORT) for name in ("exact-1", "exact-2")]
    sensors += [KnownSensor("vague-1", "bay", "p", LONG)]
    assert explain(of_all, sensors).is_reachable is False
    assert explain(replace(of_all, at_least=cc.AtLeast(2)), sensors).is_reachable is True
    vaguest = clique(played=vague, at_least=2)
    sensors += [KnownSensor("vague-2", "bay", "p", LONG)]
    assert explain(vaguest, sensors).is_reachable is False


def test_chance_agrees_with_unrelated_detections() -> None:
    rng = np.random.default_rng(7)
    span_s, rates = 20_000.0, {"geophone": ("p", 0.05), "mast": ("p", 0.02), "buoy": ("s", 0.08)}
    sensors = [KnownSensor(name, "bay", stream, LONG, hz) for name, (stream, hz) in rates.items()]
    chance = explain(query(0.08, 1.0), sensors).chance
    assert chance is not None
    counts = []
    for _ in range(8):
        sides = []
        for stream in "ps":
            times = [rng.uniform(0, span_s, rng.poisson(hz * span_s)) for each, hz in rates.values() if each == stream]
            sides.append(Detections((np.concatenate(times) * 1e6).astype(np.int64), templates=[LONG]))
        a, b = sides
        counts.append(len(cc.timing_join(a, b, Window(1.0), threshold=0.08, sensors="any")))
    expected = chance.per_hour * span_s / 3600
    assert abs(np.mean(counts) - expected) < 4 * np.sqrt(expected / len(counts))


def test_chance_of_a_clique_agrees_with_unrelated_detections() -> None:
    rng = np.random.default_rng(11)
    span_s, rate_hz = 20_000.0, 0.05
    sensors = [KnownSensor(name, "bay", "p", Histogram.uniform(-2, 2), rate_hz) for name in ("one", "two", "three")]
    chance = explain(clique(joint_threshold=0.15), sensors).chance
    assert chance is not None
    counts = []
    for _ in range(6):
        times = [np.sort(rng.uniform(0, span_s, rng.poisson(rate_hz * span_s))) for _ in sensors]
        batches = [Detections((each * 1e6).astype(np.int64), templates=[Histogram.uniform(-2, 2)]) for each in times]
        graph = cc.ConstraintGraph.clique("abc", Window(1.0))
        counts.append(len(cc.window_join(dict(zip("abc", batches, strict=True)), graph, threshold=0.15)))
    expected = chance.per_hour * span_s / 3600
    assert abs(np.mean(counts) - expected) < 4 * np.sqrt(expected / len(counts)) + 0.1 * expected


def test_rates_of_areas_are_shared_by_their_sensors_and_chance_is_their_sum() -> None:
    places = {"bay": 1, "hill": 3, "moor": 2, "fen": 1}
    sensors = [
        KnownSensor(f"{area}-{stream}-{nth}", area, stream, LONG)
        for area, count in places.items()
        for stream in "ps"
        for nth in range(count)
    ]
    by_area = {"bay": {"p": 0.3, "s": 0.6}, "hill": {"p": 0.03}, "nobody": {"p": 9.0, "s": 9.0}}
    explained = explain(query(0.08), sensors, SeenRates(by_area, {"s": 0.3}))
    bay = chance_rate([SensorRate("a", LONG, 0.3)], [SensorRate("b", LONG, 0.6)], Window(1.0), 0.08)
    assert explained.chance is not None
    assert explained.chance.per_hour == pytest.approx(3600 * bay)  # in no other area do both streams report
    explained = explain(query(0.08), sensors, SeenRates(by_area, {"p": 0.3, "s": 0.3}))
    elsewhere = [
        chance_rate([SensorRate("a", LONG, 0.1 * many)], [SensorRate("b", LONG, 0.1 * many)], Window(1.0), 0.08)
        for many in (2, 1)
    ]
    assert explained.chance is not None
    assert explained.chance.per_hour == pytest.approx(3600 * (bay + sum(elsewhere)))
    assert explained.work is not None
    assert explain(query(0.08), sensors, SeenRates({})).chance is None


def test_the_least_threshold_gives_so_few_chance_matches_and_the_next_lower_one_more() -> None:
    sensors = [KnownSensor(stream, "bay", stream, LONG, 0.02) for stream in "ps"]
    asked = query(0.01)
    chosen = least_threshold(asked, sensors, per_day=100)
    assert chosen is not None
    for threshold, few in ((chosen, True), (chosen - 0.001, False)):
        chance = explain(query(threshold), sensors).chance
        assert chance is not None
        assert (24 * chance.per_hour <= 100) is few
    looser = least_threshold(asked, sensors, per_day=200)
    assert looser is not None
    assert looser < chosen


def test_no_threshold_gives_few_matches_where_all_are_certain() -> None:
    sensors = [KnownSensor(stream, "bay", stream, Histogram.point(), 1.0) for stream in "ps"]
    assert least_threshold(query(), sensors, per_day=1) is None


def test_no_threshold_is_chosen_as_long_as_no_rates_are_known() -> None:
    sensors = [KnownSensor(stream, "bay", stream, LONG) for stream in "ps"]
    assert least_threshold(query(), sensors, per_day=1) is None


def test_too_many_sensors_are_judged_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sensors = [
        KnownSensor(f"{stream}-{nth}", f"area-{nth % 7}", stream, Histogram.uniform(-length, length), 0.01)
        for stream in "ps"
        for nth, length in enumerate(rng.uniform(1, 9, 70))
    ]
    whole = explain(query(0.15), sensors)
    monkeypatch.setattr(sensor_pairs, "MOST_CELLS", 200)
    few_sensors = explain(query(0.15), sensors)
    monkeypatch.undo()
    monkeypatch.setattr(explained_query, "MOST_WORK", 1e5)
    few_templates = explain(query(0.15), sensors)
    monkeypatch.undo()
    for sampled in (few_sensors, few_templates):
        [edge], [of_all] = sampled.edges, whole.edges
        assert edge.is_sample
        assert not of_all.is_sample
        assert edge.sensor_pairs < of_all.sensor_pairs
        assert edge.share == pytest.approx(of_all.share, abs=0.2)
        assert sampled.chance is not None
        assert whole.chance is not None
        assert sampled.chance.per_hour == pytest.approx(whole.chance.per_hour, rel=0.3)
        assert sampled.is_reachable is not False


def test_work_does_not_grow_with_sensors_of_one_template() -> None:
    one, many = (
        [KnownSensor(f"{stream}-{nth}", "bay", stream, LONG) for stream in "ps" for nth in range(count)]
        for count in (1, 3_000)
    )
    assert explain(query(0.05), many).edges[0].greatest == explain(query(0.05), one).edges[0].greatest
    assert explain(query(0.05), many).edges[0].sensor_pairs == 9_000_000


def test_alike_edges_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(pairs: TemplatePairs, window: Window) -> Any:
        calls.append(len(pairs))
        return attainable_of_pairs(pairs, window)

    monkeypatch.setattr(edge_reach, "attainable_of_pairs", counted)
    sensors = [KnownSensor(f"p-{nth}", "bay", "p", SHORT) for nth in range(16)]
    assert len(explain(clique("abcdefghijklmnop"), sensors).edges) == 120
    assert calls == [1, 1]  # once for what is attained, once for where the best pair attains it
