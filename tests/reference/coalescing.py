"""Coalescing from its definition in docs/explanation/coalescing.md, one row at a time: slow and obvious."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from operator import eq
from typing import Any, NamedTuple

from coincide.coalescing import (
    Bounded,
    CoalescedRun,
    Decreasing,
    Equal,
    Equivalence,
    Increasing,
    Predicate,
    Quantised,
)

# every kind; with decimals, whose differences float64 rounds
EQUIVALENCES = [
    Equal(),
    Bounded(1),
    Bounded(0.1),
    Bounded(0.5, relative=True),
    Increasing(),
    Decreasing(),
    Quantised(2),
    Quantised(0.1),
    Predicate(eq),
]


class Reading(NamedTuple):
    """Ordered by (ts, group, id), as the tuple scope of an extent is."""

    ts_us: int
    group: int
    id: int
    value: Any = None
    kept: bool = True  # left out by a filter, it still ends the one before it

    @property
    def key(self) -> tuple[int, int, int]:
        return self.ts_us, self.group, self.id


class Fact(NamedTuple):
    start_us: int
    end_us: int
    group: int
    value: Any = None


def decimal(number: float) -> Fraction:
    """Return the decimal that a number is written as, exactly."""
    return Fraction(str(number))


def differ_at_most(one: float, other: float, bound: float) -> bool:
    return abs(decimal(other) - decimal(one)) <= decimal(bound)


def differ_at_most_by_share(one: float, other: float, share: float) -> bool:
    return abs(decimal(other) - decimal(one)) <= decimal(share) * abs(decimal(one))


def step(value: float, width: float) -> int:
    """Return the whole number k for which the value lies in [k * width, (k + 1) * width)."""
    return decimal(value) // decimal(width)


def goes_on(equivalence: Equivalence, previous: Any, following: Any) -> bool:
    """Whether a value goes on from the one before it, by exact arithmetic on decimals."""
    match equivalence:
        case Bounded(epsilon, relative):
            return (differ_at_most_by_share if relative else differ_at_most)(previous, following, epsilon)
        case Quantised(width):
            return step(previous, width) == step(following, width)
        case Predicate(function):
            return function(previous, following)
    ways: dict[type[Equivalence], bool] = {
        Equal: previous == following,
        Increasing: following > previous,
        Decreasing: following < previous,
    }
    return ways[type(equivalence)]


def in_tuple_scope(readings: Iterable[Reading], size: int) -> list[Reading]:
    """Return the `size` largest by (ts, group, id) of all that ever arrived."""
    return sorted(_first_arrivals(readings), key=lambda reading: reading.key)[-size:]


def in_time_scope(readings: Iterable[Reading], duration_us: int) -> list[Reading]:
    """Return those in the closed interval [latest - T, latest]."""
    listed = _first_arrivals(readings)
    latest = max((reading.ts_us for reading in listed), default=0)
    return [reading for reading in listed if reading.ts_us >= latest - duration_us]


def each_group(
    readings: Iterable[Reading], scope: Callable[[list[Reading], int], list[Reading]], bound: int
) -> list[Reading]:
    """Return the extent of every group by itself."""
    listed = list(readings)
    by_group = ([r for r in listed if r.group == group] for group in {reading.group for reading in listed})
    return [kept for of_group in by_group for kept in scope(of_group, bound)]


def coalesced_readings(
    readings: Iterable[Reading], equivalence: Equivalence, hold_us: int | None = None
) -> list[CoalescedRun]:
    """Return the runs of the readings of an extent."""
    runs, listed = list[CoalescedRun](), list(readings)
    for group in sorted({reading.group for reading in listed}):
        in_group = [reading for reading in listed if reading.group == group]
        instants = sorted({reading.ts_us for reading in in_group})
        counted = [min((r for r in in_group if r.ts_us == ts), key=lambda r: r.id) for ts in instants]
        parts = _linked(counted, equivalence, hold_us)
        runs += [_run(members, counted, hold_us) for members in parts if members[0].kept]
    return runs


def coalesced_facts(facts: Sequence[Fact], gap_us: int = 0) -> list[tuple[int, int, int, Any, int]]:
    """Return (group, start, end, value, count): facts of one group and value united while any two of them meet."""
    united = [(fact.group, fact.start_us, fact.end_us, fact.value, 1) for fact in facts]
    meeting = True
    while meeting:
        meeting = False
        for one, other in combinations(united, 2):
            alike = one[0] == other[0] and one[3] == other[3]
            if alike and one[1] - gap_us <= other[2] and other[1] - gap_us <= one[2]:
                united.remove(one)
                united.remove(other)
                united.append((one[0], min(one[1], other[1]), max(one[2], other[2]), one[3], one[4] + other[4]))
                meeting = True
                break
    return sorted(united)


def coalesced_trends(
    facts: Sequence[Fact], equivalence: Equivalence, gap_us: int = 0
) -> list[tuple[int, int, int, Any, int]]:
    """Return (group, start, end, value, count): each group cut where neighbours do not link, then each part united."""
    runs: list[tuple[int, int, int, Any, int]] = []
    for group in sorted({fact.group for fact in facts}):
        previous: Fact | None = None
        for fact in sorted((fact for fact in facts if fact.group == group), key=lambda fact: fact.start_us):
            linked = previous is not None and goes_on(equivalence, previous.value, fact.value)
            if linked and fact.start_us - gap_us <= runs[-1][2]:
                _, start, end, value, count = runs.pop()
                runs.append((group, start, max(end, fact.end_us), value, count + 1))
            else:
                runs.append((group, fact.start_us, fact.end_us, fact.value, 1))
            previous = fact
    return sorted(runs)


def _first_arrivals(readings: Iterable[Reading]) -> list[Reading]:
    """The same (ts, group, id) again is the same reading again: the first counts."""
    return list({reading.key: reading for reading in reversed(list(readings))}.values())


def _linked(counted: list[Reading], equivalence: Equivalence, hold_us: int | None) -> list[list[Reading]]:
    parts: list[list[Reading]] = []
    for reading in counted:
        previous = parts[-1][-1] if parts else None
        held = previous is not None and (hold_us is None or reading.ts_us <= previous.ts_us + hold_us)
        kept = previous is not None and previous.kept and reading.kept
        if previous is not None and held and kept and goes_on(equivalence, previous.value, reading.value):
            parts[-1].append(reading)
        else:
            parts.append([reading])
    return parts


def _run(members: list[Reading], counted: list[Reading], hold_us: int | None) -> CoalescedRun:
    first, last = members[0], members[-1]
    after = [reading.ts_us for reading in counted if reading.ts_us > last.ts_us]
    held = [] if hold_us is None else [last.ts_us + hold_us]
    end = min([min(after, default=last.ts_us), *held])
    return CoalescedRun(first.group, first.ts_us, end, first.value, len(members), first.id, last.id, not after)
