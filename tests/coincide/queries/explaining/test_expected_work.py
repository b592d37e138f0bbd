"""What is to be expected of a query, against detections that come at random."""

from typing import Any

import numpy as np
import pytest

from coincide import Detections, Histogram, Stream
from coincide.queries import Query
from coincide.queries.explaining.expected_work import expected_work

STREAMS = {name: Stream(name, max_delay_s=1, longest_template_s=4) for name in "pst"}
RATES = {"p": 2.0, "s": 1.0, "t": 0.5}
SECONDS = 2_000


def query(streams: str, form: str, window_s: float, **more: Any) -> Query:
    roles = dict(zip("abcdefghijklmnop", streams, strict=False))
    within = [{"window_s": window_s, "threshold": 1.0}]
    return Query.from_json({"id": "q", "from": roles, "form": form, "within": within, "sensors": "any", **more})


@pytest.mark.parametrize(
    ("streams", "form"), [("pst", "path"), ("pst", "clique"), ("ppst", "path"), ("sstt", "clique")]
)
def test_random_detections_give_about_as_many_tuples(streams: str, form: str) -> None:
    rng, asked = np.random.default_rng(1), query(streams, form, 0.5)
    exact = [Histogram.point()]
    of_stream = {
        name: Detections(rng.integers(0, SECONDS * 1_000_000, round(rate * SECONDS)), exact)
        for name, rate in RATES.items()
    }
    batches = {role: of_stream[stream] for role, stream in asked.roles}
    tuples = _count(asked, batches)
    expected = expected_work(asked, RATES, STREAMS)
    assert expected is not None
    assert tuples / SECONDS == pytest.approx(expected.candidates_hz, rel=0.15)


def _count(asked: Query, batches: dict[str, Detections]) -> int:
    """Count the choices of members of which no two are one detection, but for swaps of alike roles."""
    times = {role: np.sort(batch.detected_at_us) for role, batch in batches.items()}
    names, stream_of = [role for role, _ in asked.roles], dict(asked.roles)
    near = {frozenset((edge.a, edge.b)) for edge in asked.graph.edges}
    chosen = [{names[0]: nth} for nth in range(len(times[names[0]]))]
    for role in names[1:]:
        others = [each for each in names[: names.index(role)] if frozenset((each, role)) in near]
        larger = []
        for each in chosen:
            at = times[others[0]][each[others[0]]]
            first, last = np.searchsorted(times[role], [at - 500_000, at + 500_001])
            for nth in range(first, last):
                is_near = all(abs(times[role][nth] - times[other][each[other]]) <= 500_000 for other in others)
                is_new = not any(stream_of[o] == stream_of[role] and each[o] == nth for o in each)
                if is_near and is_new:
                    larger.append({**each, role: nth})
        chosen = larger
    swaps = 1
    for group in asked.interchange.groups:
        for size in range(2, len(group) + 1):
            swaps *= size
    return len(chosen) // swaps


def test_thresholds_bound_how_far_apart_members_are() -> None:
    edges = ({"window_s": 1.0, "threshold": threshold} for threshold in (1.0, 0.5, 0.01))
    one, half, none = (expected_work(query("ps", "path", 1.0, within=[each]), RATES, STREAMS) for each in edges)
    assert one is not None
    assert half is not None
    assert none is not None
    assert half.candidates_hz == pytest.approx(2 * one.candidates_hz)
    assert none.candidates_hz == pytest.approx(5 * one.candidates_hz)  # all that the templates allow


def test_sixteen_roles_without_keys_are_hopeless_and_with_keys_nobody_knows() -> None:
    wide = query("p" * 16, "clique", 5.0)
    expected = expected_work(wide, {"p": 10.0}, STREAMS)
    assert expected is not None
    assert expected.candidates_per_detection > 1e7
    assert expected_work(query("ps", "path", 1.0, equal="attributes.key"), RATES, STREAMS) is None


def test_fewer_members_are_candidates_too() -> None:
    whole, some = (expected_work(query("pst", "clique", 0.5, **more), RATES, STREAMS) for more in ({}, {"at_least": 2}))
    assert whole is not None
    assert some is not None
    pairs = (2 * 1 + 2 * 0.5 + 1 * 0.5) * 1.0
    assert some.candidates_hz == pytest.approx(whole.candidates_hz + pairs)
