"""The slow twin of fusion's evidence: it sees all matches at once, and lists every way to share detections out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import log2
from typing import Any

import pytest

from coincide import Histogram
from tests.reference.evidence import bits_of, density_of_one_moment, shares

Record = Mapping[str, Any]
Set = frozenset[int]


def groups(matches: Sequence[Record]) -> list[list[Record]]:
    """Return the matches that hang together: of one area, sharing detections one with the other or through others."""
    found: list[list[Record]] = []
    for match in matches:
        joined = [group for group in found if any(_share(match, other) for other in group)]
        found = [group for group in found if group not in joined] + [[*(each for one in joined for each in one), match]]
    return found


def _share(one: Record, other: Record) -> bool:
    return one["area"] == other["area"] and not {*_keys(one)}.isdisjoint(_keys(other))


def _keys(match: Record) -> list[tuple[int, str, str]]:
    return [(each["detected_at_us"], each["sensor"], each["id"]) for each in match["members"]]


@dataclass
class WeighedGroup:
    """What is true of the matches of one group, given how often each detection's sensor makes unpaired ones."""

    matches: Sequence[Record]
    templates: Mapping[str, Histogram]
    unpaired_hz: Mapping[tuple[int, str, str], float]
    events_hz: Fraction
    heard_by: Fraction
    live: frozenset[str]

    @cached_property
    def _members(self) -> dict[tuple[int, str, str], Record]:
        members = (each for match in self.matches for each in zip(_keys(match), match["members"], strict=True))
        return dict(sorted(dict(members).items()))

    @cached_property
    def _parts(self) -> list[Set]:
        at = {key: nth for nth, key in enumerate(self._members)}
        sets = [[at[key] for key in _keys(match)] for match in self.matches]
        chosen = {frozenset(some) for each in sets for count in range(2, 17) for some in combinations(each, count)}
        return sorted(chosen, key=sorted)

    @cached_property
    def _bits(self) -> dict[Set, float]:
        return {part: self._bits_of(part) for part in self._parts}

    def _bits_of(self, part: Set) -> float:
        keys, members = list(self._members), list(self._members.values())
        at = sorted(part)
        templates = [self.templates[members[nth]["template"]] for nth in at]
        start_us = members[at[0]]["detected_at_us"]
        density = density_of_one_moment(templates, [members[nth]["detected_at_us"] - start_us for nth in at])
        silent = self.live - {members[nth]["sensor"] for nth in at}
        sensors = len(at) + len(silent)
        rates = [Fraction(self.unpaired_hz[keys[nth]]) for nth in at] + [Fraction(1)] * len(silent)
        return bits_of(self.events_hz, [self.heard_by] * sensors, rates, density, frozenset(range(len(at), sensors)))

    @cached_property
    def _shares(self) -> dict[Set, float]:
        weights = [Fraction(2**bits) for bits in self._bits.values()]
        return dict(zip(self._bits, map(float, shares(list(self._bits), weights)), strict=True))

    @property
    def parts(self) -> int:
        """How many sets may be an event."""
        return len(self._parts)

    def bits(self, match: Record) -> float:
        """Log2 of one event with these members and no others, against chance."""
        return self._bits[self._whole(match)]

    def posterior(self, match: Record) -> float:
        """How probable it is that all members are of one event."""
        whole = self._whole(match)
        return sum(share for part, share in self._shares.items() if whole <= part)

    def belongs(self, match: Record) -> list[float]:
        """How probable it is that each member is of one event with another member."""
        whole, at = self._whole(match), {key: nth for nth, key in enumerate(self._members)}
        return [
            sum(share for part, share in self._shares.items() if at[key] in part and len(part & whole) >= 2)
            for key in _keys(match)
        ]

    def _whole(self, match: Record) -> Set:
        at = {key: nth for nth, key in enumerate(self._members)}
        return frozenset(at[key] for key in _keys(match))


def unpaired_hz_of(evidence: Record, heard_by: float) -> dict[str, float]:
    """Return the rate of unpaired detections that each member was judged by, by sensor: its term has it."""
    terms = [term for term in evidence["terms"] if term["kind"] == "member"]
    return {term["sensor"]: 2 ** (log2(heard_by) - term["bits"]) for term in terms}


def assert_as_defined(
    matches: Sequence[Record],
    evidence: Mapping[str, Record],
    templates: Sequence[Histogram],
    events_hz: Fraction,
    heard_by: Fraction,
    most_parts: int = 10,
) -> int:
    """Judge the evidence of all matches of one query, by id; return how many groups were judged.

    Not judged are groups of more than `most_parts`, of which listing all ways would take long, and those of which a
    record has no bits.
    """
    by_id, judged = {each.id: each for each in templates}, 0
    for group in groups(matches):
        own = [evidence[each["id"]] for each in group]
        if any(each["bits"] is None for each in own):
            assert {each.get("unknown") for each in own} <= {None, "not_watched_yet", "impossible"}
            continue
        rates = {
            (member["detected_at_us"], member["sensor"], member["id"]): unpaired_hz_of(each, float(heard_by))[
                member["sensor"]
            ]
            for each, match in zip(own, group, strict=True)
            for member in match["members"]
        }
        live = {frozenset(term["sensor"] for term in each["terms"] if "sensor" in term) for each in own}
        assert len(live) == 1  # a member of one match is silent in another
        twin = WeighedGroup(group, by_id, rates, events_hz, heard_by, *live)
        if twin.parts <= most_parts:
            judged += 1
            for match, record in zip(group, own, strict=True):
                _assert_as_weighed(twin, match, record)
    return judged


def _assert_as_weighed(twin: WeighedGroup, match: Record, record: Record) -> None:
    assert record["bits"] == pytest.approx(twin.bits(match), abs=1e-6)
    assert sum(term["bits"] for term in record["terms"]) == pytest.approx(record["bits"], abs=1e-7)
    for side in ("posterior", "posterior_least", "posterior_greatest"):
        assert record[side] == pytest.approx(min(twin.posterior(match), 1), abs=1e-6)
    belongs = [each["belongs"] for each in record["members"]]
    assert belongs == pytest.approx([min(each, 1) for each in twin.belongs(match)], abs=1e-6)
