"""Expected candidates: what chance alone makes a query look at, judged from its graph and the rates of its streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, factorial, log

import numpy as np

from coincide.queries.joins.join_query import Query
from coincide.stream import Stream

UNSEEN_HZ = 0.1  # of a stream that nothing has come from yet


@dataclass(frozen=True)
class ExpectedWork:
    """Upper bounds of what unrelated detections of one area make; those that belong together come on top."""

    candidates_hz: float
    candidates_per_detection: float


def expected_work(query: Query, rate_hz: Mapping[str, float], streams: Mapping[str, Stream]) -> ExpectedWork | None:
    """Return the candidates to be expected where detections come at these rates by stream, at random.

    A threshold above 0 is reached at offsets of at most the window's length divided by it, since a probability over
    all offsets sums up to that length; without one every possible offset counts. Of a clique the roles must be near
    each other pair by pair; of other graphs the shortest edges that connect all roles count. Filters by attribute or
    sensor are left out, so that a filtered query looks at less. None for a query with `equal`, since nothing is known
    about the values.

    Parameters
    ----------
    query : Query
        A join.
    rate_hz : mapping of str to float
        Detections a second in the busiest area, by stream; of a stream that is missing `UNSEEN_HZ`.
    streams : mapping of str to Stream
        The declared streams.

    Examples
    --------
    >>> edge = {"window_s": 1, "threshold": 0.5}
    >>> query = Query.from_json({"id": "q", "from": {"a": "p", "b": "s"}, "within": [{"between": ["a", "b"], **edge}]})
    >>> declared = {name: Stream(name, max_delay_s=1, longest_template_s=4) for name in "ps"}
    >>> expected_work(query, {"p": 3.0, "s": 1.0}, declared)
    ExpectedWork(candidates_hz=12.0, candidates_per_detection=3.0)
    """
    if query.equal is not None:
        return None
    rates = [rate_hz.get(stream, UNSEEN_HZ) for stream in query.streams]
    of_size = _sets_of_size(query, rates)
    span_s, roles = _mean_span_s(query, streams), len(query.roles)
    fewest = roles if query.at_least is None else 2
    candidates_hz = sum(
        of_size[size] * span_s ** (size - 1) * (size / 2 ** (size - 1) if query.graph.is_clique else 1.0)
        for size in range(fewest, roles + 1)
    )
    in_all_hz = sum(rate_hz.get(stream, UNSEEN_HZ) for stream in set(query.streams))
    return ExpectedWork(float(candidates_hz), float(candidates_hz / in_all_hz) if in_all_hz else 0.0)


def _sets_of_size(query: Query, rates: list[float]) -> np.ndarray:
    """Return the product of rates summed over the sets of roles of each size; alike roles have no order."""
    sums = np.ones(1)
    for group in query.interchange.groups:
        rate = rates[group[0]]
        sums = np.convolve(sums, [rate**members / factorial(members) for members in range(len(group) + 1)])
    return sums


def _mean_span_s(query: Query, streams: Mapping[str, Stream]) -> float:
    """Return the geometric mean of how long the offsets are, of all edges of a clique or of those that connect all."""
    spans = []
    stream_of = {role: streams[name] for role, name in query.roles}
    for edge in query.graph.edges:
        length_s = (edge.window.hi_us - edge.window.lo_us) / 1e6
        possible_s = length_s + sum(stream_of[role].longest_template_s for role in (edge.a, edge.b))
        spans.append((min(possible_s, length_s / edge.threshold) if edge.threshold else possible_s, edge.a, edge.b))
    if not query.graph.is_clique:
        spans = _connecting(spans)
    return exp(sum(log(max(span, 1e-6)) for span, _, _ in spans) / len(spans))


def _connecting(spans: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Return the shortest edges that connect all roles."""
    part_of: dict[str, set[str]] = {role: {role} for _, *ends in spans for role in ends}
    chosen = []
    for span, a, b in sorted(spans):
        if part_of[a] is not part_of[b]:
            part_of[a] |= part_of[b]
            part_of.update(dict.fromkeys(part_of[b], part_of[a]))
            chosen.append((span, a, b))
    return chosen
