"""What Coincide must answer, computed the slow and obvious way from the definition.

Given the detections that were accepted and the history of the queries, the set of matches does not depend on arrival
order, batches, shards or restarts. So this file has no buffer and no watermark: it looks at every pair of an area that
could qualify and applies the rules of docs/explanation/semantics.md one after the other.

Time in the history is counted in *phases*: a detection says in which phase it was processed, a version says from which
phase on it was in force. A test that changes no queries has phase 0 only.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, TypeAlias

from tests.reference.pair_probability import Bucket, Template, in_us, pair_probability, rounded

NEARLY = 1e-9  # a probability this near the threshold may be judged either way; such matches are ``borderline``

Member: TypeAlias = tuple[str, str, str]  # role, sensor, detection id
Key: TypeAlias = tuple[str, tuple[Member, ...]]  # query id, members in role order: what the match id is a hash of


@dataclass(frozen=True)
class Detection:
    """One accepted detection and the phase in which it was processed."""

    area: str
    sensor: str
    id: str
    stream: str
    detected_at_us: int
    template: Template
    phase: int = 0


@dataclass(frozen=True)
class QueryVersion:
    """One version of a query, in force from the start of phase ``since`` until a later version of the same id."""

    query: str
    version: int
    roles: tuple[tuple[str, str], tuple[str, str]]  # (role, stream), (role, stream)
    lo_s: float
    hi_s: float
    threshold: float
    sensors: Literal["different", "same", "any"] = "different"
    paused: bool = False
    removed: bool = False
    since: int = 0

    @property
    def shape(self) -> tuple[object, ...]:
        """What decides which pairs are looked at; the threshold decides which of them count."""
        return (self.roles, self.lo_s, self.hi_s, self.sensors)

    @property
    def activating(self) -> tuple[object, ...]:
        """What starts the query afresh when it changes: its streams and its window."""
        return (tuple(stream for _, stream in self.roles), self.lo_s, self.hi_s)


@dataclass(frozen=True)
class Expected:
    """One match by the definition; ``borderline`` when its probability is within ``NEARLY`` of the threshold."""

    key: Key
    area: str
    version: int
    probability: float
    borderline: bool


def expected_matches(detections: Iterable[Detection], history: Iterable[QueryVersion]) -> dict[Key, Expected]:
    """Return every match, those at the very threshold included and marked, by query id and members."""
    by_query: dict[str, list[QueryVersion]] = defaultdict(list)
    for version in history:
        by_query[version.query].append(version)
    groups = _by_area_and_stream(detections)
    matches = [
        _judge(a, b, shape, versions)
        for versions in by_query.values()
        for shape in {version.shape: version for version in versions}.values()
        for a, b in _candidates(groups, shape)
    ]
    return {match.key: match for match in matches if match is not None}


def _by_area_and_stream(detections: Iterable[Detection]) -> dict[tuple[str, str], list[Detection]]:
    groups: dict[tuple[str, str], list[Detection]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for detection in detections:
        if (detection.sensor, detection.id) in seen:
            raise ValueError(f"the oracle was given {detection.sensor} {detection.id} twice")
        seen.add((detection.sensor, detection.id))
        groups[detection.area, detection.stream].append(detection)
    for group in groups.values():
        group.sort(key=lambda d: d.detected_at_us)
    return groups


def _candidates(
    groups: dict[tuple[str, str], list[Detection]], query: QueryVersion
) -> Iterator[tuple[Detection, Detection]]:
    """Every ordered pair (first role, second role) of one area whose histogram timestamps could meet the window."""
    (_, first), (_, second) = query.roles
    for area in {area for area, _ in groups}:
        left, right = groups.get((area, first), []), groups.get((area, second), [])
        slack_us = _widest_us(left) + _widest_us(right)
        times_us = [b.detected_at_us for b in right]
        for a in left:
            start = bisect_left(times_us, a.detected_at_us + in_us(query.lo_s) - slack_us)
            end = bisect_right(times_us, a.detected_at_us + in_us(query.hi_s) + slack_us)
            yield from ((a, b) for b in right[start:end] if _allowed(a, b, query))


def _widest_us(group: list[Detection]) -> Fraction:
    return max((abs(end) for template in {d.template for d in group} for end in template.reach_us), default=Fraction(0))


def _allowed(a: Detection, b: Detection, query: QueryVersion) -> bool:
    if a is b or (query.sensors != "any" and (query.sensors == "same") != (a.sensor == b.sensor)):
        return False
    one_stream_twice = query.roles[0][1] == query.roles[1][1]
    if one_stream_twice and in_us(query.lo_s) == -in_us(query.hi_s):
        # an unordered pair: the earlier takes the first role
        return (a.detected_at_us, a.sensor, a.id) < (b.detected_at_us, b.sensor, b.id)
    return True


def _judge(a: Detection, b: Detection, shape: QueryVersion, versions: list[QueryVersion]) -> Expected | None:
    begun = [version for version in versions if version.since <= max(a.phase, b.phase)]
    in_force = max(begun, key=lambda version: version.version, default=None)
    if in_force is None or in_force.removed or in_force.paused or in_force.shape != shape.shape:
        return None
    if min(a.phase, b.phase) < _activated(versions, in_force):
        return None
    probability = _probability(a, b, in_force)
    if probability < in_force.threshold - NEARLY:
        return None
    members = tuple((role, d.sensor, d.id) for (role, _), d in zip(in_force.roles, (a, b), strict=True))
    borderline = abs(probability - in_force.threshold) <= NEARLY
    return Expected((in_force.query, members), a.area, in_force.version, probability, borderline)


def _activated(versions: list[QueryVersion], current: QueryVersion) -> int:
    """The phase of the query's creation, or of its last change of streams or window, up to ``current``."""
    since = current.since
    so_far = [version for version in versions if version.version <= current.version]
    for version in sorted(so_far, key=lambda v: v.version, reverse=True):
        if version.removed or version.activating != current.activating:
            break
        since = version.since
    return since


@cache
def _buckets(template: Template) -> tuple[list[Bucket], list[Bucket]]:
    return rounded(template.exact), template.exact


def _probability(a: Detection, b: Detection, query: QueryVersion) -> float:
    """In floating point; in fractions where that could matter."""
    offset_us = b.detected_at_us - a.detected_at_us
    lo_us, hi_us = in_us(query.lo_s), in_us(query.hi_s)
    (u, exact_u), (v, exact_v) = _buckets(a.template), _buckets(b.template)
    quick = float(pair_probability(u, v, offset_us, float(lo_us), float(hi_us)))
    if abs(quick - query.threshold) > 1e-6:
        return quick
    return float(pair_probability(exact_u, exact_v, offset_us, lo_us, hi_us))
