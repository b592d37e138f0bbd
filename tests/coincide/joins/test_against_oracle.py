"""timing_join and TimingJoin against the oracle, which shares no code with them."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from coincide import Detections, Histogram, Stream, TimingJoin, Window, timing_join
from tests.reference import central_italy
from tests.reference.oracle import Detection, Expected, Key, QueryVersion, expected_matches
from tests.reference.pair_probability import Template
from tests.reference.timing_join import couples

POINT = Template((0.0, 0.0), (1.0,))
TEMPLATES = [
    POINT,
    Template((-1.0, 1.0), (1.0,)),
    Template((-0.4, -0.2, -0.1, 0.0), (0.1, 0.3, 0.6)),
    Template((0.0, 1.0, 2.0, 3.0), (0.5, 0.0, 0.5)),  # a gap
    Template((-0.5, 0.0, 0.0, 0.5), (0.25, 0.5, 0.25)),  # an atom inside
    Template((-0.137, 0.911, 1.7), (0.318, 0.682)),
]
WINDOWS = [(-1.0, 1.0), (-0.2, 0.2), (-0.1, 2.5), (0.5, 3.0), (-2.0, -1.0), (0.0, 0.0)]
THRESHOLDS = [0.001, 0.3, 0.5, 0.8, 1.0]
RULES = ["different", "same", "any"]
STREAM = {name: Stream(name, max_delay_s=10_000, longest_template_s=10) for name in ("a", "b")}


def scattered(draw: random.Random, count: int, stream: str) -> list[Detection]:
    """Detections of three sensors in two areas, on a coarse clock so that ties are many."""
    areas, clocks_us = ["bay", "hill"], [1, 100_000, 500_000]
    return [
        Detection(
            draw.choice(areas),
            draw.choice("xyz"),
            f"{stream}{i}",
            stream,
            draw.randrange(0, 20_000_000, draw.choice(clocks_us)),
            draw.choice(TEMPLATES),
        )
        for i in range(count)
    ]


def detections_of(rows: Sequence[Detection]) -> Detections:
    templates = list(dict.fromkeys(row.template for row in rows)) or [POINT]
    return Detections(
        [row.detected_at_us for row in rows],
        [Histogram(each.edges_s, each.mass) for each in templates],
        [templates.index(row.template) for row in rows],
        area=[row.area for row in rows],
        sensor=[row.sensor for row in rows],
        id=[row.id for row in rows],
    )


def query_of(draw: random.Random, second: str) -> QueryVersion:
    lo_s, hi_s = draw.choice(WINDOWS)
    rule, threshold = draw.choice(RULES), draw.choice(THRESHOLDS)
    return QueryVersion("q", 1, (("one", "a"), ("other", second)), lo_s, hi_s, threshold, rule)  # type: ignore[arg-type]


def assert_same(found: dict[tuple[str, str], float], expected: dict[Key, Expected]) -> None:
    by_ids = {(members[0][2], members[1][2]): match for (_, members), match in expected.items()}
    assert {ids for ids, match in by_ids.items() if not match.borderline} <= found.keys() <= by_ids.keys()
    for ids, probability in found.items():
        assert probability == pytest.approx(by_ids[ids].probability, abs=1e-9)


def batch(rows: list[Detection], query: QueryVersion) -> dict[tuple[str, str], float]:
    first, second = ([row for row in rows if row.stream == stream] for _, stream in query.roles)
    self_join = query.roles[0][1] == query.roles[1][1]
    # A tie is broken by (sensor, id) in the oracle and by (sensor, position) in the batch join: put ids in order.
    first, second = sorted(first, key=lambda row: row.id), sorted(second, key=lambda row: row.id)
    window = Window(lo_s=query.lo_s, hi_s=query.hi_s)
    right = None if self_join else detections_of(second)
    pairs = timing_join(detections_of(first), right, window, query.threshold, query.sensors)
    found = zip(couples(pairs), pairs.probability.tolist(), strict=True)
    return {(first[i].id, second[j].id): probability for (i, j), probability in found}


def streaming(rows: list[Detection], query: QueryVersion, draw: random.Random) -> dict[tuple[str, str], float]:
    first, second = (STREAM[stream] for _, stream in query.roles)
    window = Window(lo_s=query.lo_s, hi_s=query.hi_s)
    join = TimingJoin(first, second, window, query.threshold, query.sensors)
    arriving = draw.sample(rows, len(rows))
    found: dict[tuple[str, str], float] = {}
    while arriving:
        size = draw.choice([1, 3, 10, 40])
        together, arriving = arriving[:size], arriving[size:]
        for stream in dict.fromkeys(row.stream for row in together):
            changes = join.push(stream, detections_of([row for row in together if row.stream == stream]))
            for pair, probability in zip(couples(changes.insert), changes.insert.probability.tolist(), strict=True):
                assert pair not in found, "a pair was found twice"
                found[pair] = probability
            assert len(changes.late) == 0
    return found


@pytest.mark.parametrize("second", ["a", "b"], ids=["self-join", "two streams"])
@pytest.mark.parametrize("seed", range(20))
def test_the_same_pairs_with_the_same_probabilities(seed: int, second: str) -> None:
    draw = random.Random(f"{seed} {second}")
    query = query_of(draw, second)
    rows = scattered(draw, 45, "a") + (scattered(draw, 45, "b") if second == "b" else [])
    expected = expected_matches(rows, [query])
    assert_same(batch(rows, query), expected)
    assert_same(streaming(rows, query, draw), expected)


def test_the_scenarios_above_are_not_empty() -> None:
    draws = [random.Random(f"{seed} b") for seed in range(20)]
    queries = [query_of(draw, "b") for draw in draws]
    each = [scattered(draw, 45, "a") + scattered(draw, 45, "b") for draw in draws]
    assert np.median([len(expected_matches(rows, [query])) for rows, query in zip(each, queries, strict=True)]) > 10


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
@pytest.mark.parametrize(
    "query",
    [
        QueryVersion("own S", 1, (("one", "a"), ("other", "b")), 0.5, 8.0, 0.9, "same"),
        QueryVersion("neighbours", 1, (("one", "a"), ("other", "a")), -1.0, 1.0, 0.6),
        QueryVersion("nearly at once", 1, (("one", "a"), ("other", "a")), -0.1, 0.1, 0.3),
    ],
    ids=lambda query: query.query,
)
def test_an_hour_of_central_italy(query: QueryVersion) -> None:
    stream, templates = {"P": "a", "S": "b"}, central_italy.templates()
    rows = [
        Detection("italy", pick.station, f"{i:05}", stream[pick.phase], pick.detected_at_us, templates[pick.phase])
        for i, pick in enumerate(central_italy.picks(hour=4))
        if stream[pick.phase] in dict(query.roles).values()
    ]
    expected = expected_matches(rows, [query])
    assert len(expected) > 300
    assert_same(batch(rows, query), expected)
    assert_same(streaming(rows, query, random.Random(4)), expected)
