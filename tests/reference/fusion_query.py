"""What a query matches, written from the definition: rows in order of arrival, every choice of members tried."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import combinations, permutations
from math import ceil, dist, hypot
from typing import Any

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities, match_probability
from tests.reference.geodesics import surface_m
from tests.reference.set_candidates import SetCandidates

ACCURACY = 1e-12

Names = tuple[tuple[str, str, str], ...]  # role, sensor and id of each member


@dataclass(frozen=True, eq=False)
class SlowRow:
    number: int
    area: str
    fields: dict[str, Any]
    template: Histogram

    @property
    def name(self) -> tuple[str, str]:
        return self.fields["sensor"], self.fields["id"]

    @property
    def latest_us(self) -> int:
        return int(self.fields["detected_at_us"] + self.template.latest_us)

    @property
    def place(self) -> tuple[int, str, str]:
        return self.fields["detected_at_us"], *self.name


Players = Mapping[str, SlowRow]  # by role


@dataclass(frozen=True)
class SlowDistance:
    speed_m_s: float
    slack_s: float
    up_to_m: float

    def swapped(self) -> SlowDistance:
        return self

    def between(self, one: dict[str, float] | None, other: dict[str, float] | None) -> Window | None:
        if one is None or other is None or one.keys() != other.keys():
            return None
        if "lat" in one:
            way_m = surface_m(one["lat"], one["lon"], other["lat"], other["lon"]) or 0.0
            away_m = hypot(way_m, one["height_m"] - other["height_m"])
        else:
            away_m = dist(list(one.values()), list(other.values()))
        if away_m > self.up_to_m:
            return None
        return Window(ceil((away_m / self.speed_m_s + self.slack_s) * 1000 - 1e-6) / 1000)


@dataclass
class SlowEdge:
    a: str
    b: str
    window: Window | SlowDistance
    threshold: float

    @classmethod
    def of(cls, edge: dict[str, Any], least: float) -> SlowEdge:
        if "speed_m_s" in edge:
            by_distance = SlowDistance(edge["speed_m_s"], edge["slack_s"], edge["up_to_m"])
            a, b = edge["between"]
            return cls(a, b, by_distance, max(edge.get("threshold", 0), least))
        window = Window(edge["window_s"]) if "window_s" in edge else Window(lo_s=edge["lo_s"], hi_s=edge["hi_s"])
        a, b = edge["between"]
        return cls(a, b, window, max(edge.get("threshold", 0), least))

    def holds(self, players: Players) -> bool:
        if not {self.a, self.b} <= players.keys():
            return True
        a, b = players[self.a], players[self.b]
        window = self.window_of(players)
        if window is None:
            return False
        offset_s = (b.fields["detected_at_us"] - a.fields["detected_at_us"]) / 1e6
        return _probability(a.template, b.template, offset_s, window) >= self.threshold - ACCURACY

    def window_of(self, players: Players) -> Window | None:
        """The window between two sensors; None where there is none."""
        if not isinstance(self.window, SlowDistance):
            return self.window
        return self.window.between(*(players[role].fields.get("place") for role in (self.a, self.b)))

    def scope(self) -> tuple[object, ...]:
        if isinstance(self.window, SlowDistance):
            return *sorted((self.a, self.b)), self.window
        return min((self.a, self.b, self.window), (self.b, self.a, self.window.swapped()), key=lambda side: side[:2])


@dataclass
class SlowQuery:
    id: str
    roles: dict[str, dict[str, Any]]
    areas: list[str]
    edges: list[SlowEdge]
    sensors: str
    joint_threshold: float | None
    at_least: int | dict[str, Any] | None
    equal: str
    version: int
    paused: bool
    activation: int
    suspended: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # by area: limit, sensor and id
    in_second: dict[str, tuple[tuple[int, int], int]] = field(default_factory=dict)

    @classmethod
    def of(cls, query: dict[str, Any], version: int, activation: int, *, paused: bool) -> SlowQuery:
        joint, at_least, equal = query.get("joint_threshold"), query.get("at_least"), query.get("equal", "")
        edges = [SlowEdge.of(edge, joint or 0) for edge in query["within"]]
        played = {
            role: given if isinstance(given, dict) else {"stream": given} for role, given in query["from"].items()
        }
        areas = query.get("areas", ["*"])
        fixed = query["id"], played, areas, edges, query["sensors"], joint, at_least, equal.removeprefix("attributes.")
        return cls(*fixed, version, paused, activation)

    def scope(self) -> tuple[object, ...]:
        edges = sorted((edge.scope() for edge in self.edges), key=repr)
        return list(self.roles.items()), self.areas, edges, self.sensors, self.at_least, self.equal

    def streams(self) -> set[str]:
        return {played["stream"] for played in self.roles.values()}

    @property
    def needs_places(self) -> bool:
        return any(isinstance(edge.window, SlowDistance) for edge in self.edges)

    def may_play(self, row: SlowRow, role: str) -> bool:
        played, said = self.roles[role], row.fields["attributes"]
        return (
            row.fields["stream"] == played["stream"]
            and (not self.needs_places or "place" in row.fields)
            and _fits(row.area, self.areas)
            and _fits(row.area, played.get("areas", ["*"]))
            and _fits(row.fields["sensor"], played.get("sensors", ["*"]))
            and all(_says(said.get(name.split(".", 1)[1]), test) for name, test in played.get("where", {}).items())
        )

    def completed_by(self, new: SlowRow, rows: Sequence[SlowRow]) -> Iterator[tuple[str, Names, tuple[str, ...]]]:
        """Yield id, members and superseded ids of each match whose last member is `new`, the last of the rows."""
        earlier = [row for row in rows[self.activation : -1] if row.area == new.area]
        for players in self._with(new, earlier):
            if not self._is_enough(players) or self._grows(players, [*earlier, new]):
                continue
            before = self.in_order({role: row for role, row in players.items() if row is not new})
            was_maximal = self._is_enough(before) and not self._grows(before, earlier)
            names = tuple((role, *row.name) for role, row in players.items())
            yield self._id(players), names, (self._id(before),) if was_maximal else ()

    @property
    def _optional(self) -> list[str]:
        if isinstance(self.at_least, dict):
            return list(self.at_least["of"])
        return [] if self.at_least is None else list(self.roles)

    def _is_enough(self, players: Players) -> bool:
        count = self.at_least["count"] if isinstance(self.at_least, dict) else self.at_least or 0
        required = self.roles.keys() - self._optional
        return required <= players.keys() and len(players.keys() - required) >= count

    def candidates(self, new: SlowRow, rows: Sequence[SlowRow]) -> int:
        """Count the candidates that a row completes: tuples before they are judged, or the sets that are looked at."""
        if self.at_least is None:
            return len(list(replace(self, joint_threshold=None).completed_by(new, rows)))
        return SetCandidates(self, new, [row for row in rows[self.activation : -1] if row.area == new.area]).count()

    def _with(self, new: SlowRow, earlier: Sequence[SlowRow]) -> list[Players]:
        """Return every compatible choice that contains the row, each once; required roles are filled first."""
        found = self._distinct([{role: new} for role in self.roles if self.may_play(new, role)])
        if len(self._optional) < len(self.roles):
            found = self._distinct([whole for players in found for whole in self._whole(players, earlier)])
        for row in earlier:
            found += self._distinct([grown for players in found for grown in self._grown(players, row)])
        return found

    def _whole(self, players: Players, earlier: Sequence[SlowRow]) -> list[Players]:
        """Fill one role after the other, each beside one that is filled."""
        beside = {role for edge in self.edges if {edge.a, edge.b} & players.keys() for role in (edge.a, edge.b)}
        missing = [role for role in self.roles if role not in players and role in beside - set(self._optional)]
        if not missing:
            return [players]
        tried = ({**players, missing[0]: row} for row in earlier if self.may_play(row, missing[0]))
        allowed = [each for each in tried if len({row.number for row in each.values()}) == len(each)]
        return [whole for each in allowed if self.allows(each) for whole in self._whole(each, earlier)]

    def _grown(self, players: Players, row: SlowRow) -> Iterator[Players]:
        if any(row is other for other in players.values()):
            return
        for role in self._optional:
            if role not in players and self.may_play(row, role):
                grown = self.in_order({**players, role: row})
                if self.allows(grown):
                    yield grown

    def _grows(self, players: Players, rows: Sequence[SlowRow]) -> bool:
        return any(True for row in rows for _ in self._grown(players, row))

    def _distinct(self, choices: Sequence[Players]) -> list[Players]:
        ordered = [self.in_order(players) for players in choices]
        return list({tuple((role, row.number) for role, row in each.items()): each for each in ordered}.values())

    def in_order(self, players: Players) -> Players:
        """Of all ways to swap roles that leave the query as it is, take the one whose earliest reported come first."""
        images = [{role: players[to[role]] for role in self.roles if to[role] in players} for to in self.swaps]
        last: tuple[Any, ...] = (True, ())
        return min(
            images, key=lambda each: [(False, each[role].place) if role in each else last for role in self.roles]
        )

    @cached_property
    def swaps(self) -> list[dict[str, str]]:
        """Every way to rename the roles that gives the same query, tried one by one."""
        edges = {(edge.a, edge.b): (edge.window, edge.threshold) for edge in self.edges}
        edges |= {(edge.b, edge.a): (edge.window.swapped(), edge.threshold) for edge in self.edges}
        renamings = (dict(zip(self.roles, names, strict=True)) for names in permutations(self.roles))
        return [
            to
            for to in renamings
            if all(self.roles[role] == self.roles[to[role]] for role in self.roles)
            and {to[role] for role in self._optional} == set(self._optional)
            and {(to[a], to[b]): kind for (a, b), kind in edges.items()} == edges
        ]

    def allows(self, players: Players) -> bool:
        sensors = [row.fields["sensor"] for row in players.values()]
        agree = [self.sensors == "any" or (self.sensors == "same") == (a == b) for a, b in combinations(sensors, 2)]
        hold = all(agree) and all(edge.holds(players) for edge in self.edges)
        return hold and self._is_equal(players) and self.holds_jointly(players)

    def _is_equal(self, players: Players) -> bool:
        values = {json.dumps(row.fields["attributes"].get(self.equal)) for row in players.values()}
        return not self.equal or (len(values) == 1 and values != {"null"})

    def holds_jointly(self, players: Players) -> bool:
        edges = [(e.a, e.b, e.window_of(players)) for e in self.edges if {e.a, e.b} <= players.keys()]
        whole = self._is_enough(players) or len(self._optional) == len(self.roles)
        if self.joint_threshold is None or len(players) < 2 or not whole:
            return True
        graph = ConstraintGraph.graph([(a, b, window) for a, b, window in edges if window], list(players))
        events = tuple((row.template, row.fields["detected_at_us"]) for row in players.values())
        return _joint(graph, events) >= self.joint_threshold - ACCURACY

    def _id(self, players: Players) -> str:
        members = [[role, *row.name, row.fields["detected_at_us"]] for role, row in players.items()]
        content = json.dumps([self.id, *members], separators=(",", ":"), ensure_ascii=False)
        return "m-" + hashlib.sha256(content.encode()).hexdigest()[:32]


def _fits(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, each) for each in globs)


def _says(value: object, test: Mapping[str, Any]) -> bool:
    kinds = {"above": float.__gt__, "at_least": float.__ge__, "below": float.__lt__, "at_most": float.__le__}
    if not kinds.keys() & test.keys():
        wanted = test["in"] if "in" in test else [test["is"]]
        meant = {json.dumps(value), value if isinstance(value, str) else ""}
        return any(json.dumps(each) in meant for each in wanted)
    with suppress(TypeError, ValueError):
        value = float(value) if isinstance(value, str) else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and all(kinds[kind](float(str(value)), float(limit)) for kind, limit in test.items())


@cache
def _probability(u: Histogram, v: Histogram, offset_s: float, window: Window) -> float:
    return float(match_probability(u, v, offset_s, window))


@cache
def _joint(graph: ConstraintGraph, events: tuple[tuple[Histogram, int], ...]) -> float:
    templates, times_us = [[template] for template, _ in events], [[at_us] for _, at_us in events]
    return float(joint_probabilities(graph, templates, [[0]] * len(events), times_us).value[0])
