"""Three stations at a time, out of order, with fusion and alerting killed half-way: REST and the live stream agree.

The oracle knows pairs: a match of three is three pairs, one of two a pair that no third pick fits into.
"""

from collections import defaultdict
from typing import Any

import pytest

from tests.acceptance.hour import AFTER_RULE, NEAR_RULE, Hour
from tests.acceptance.line import Line, Scenario
from tests.acceptance.on_italy import on_both, on_one
from tests.integration.service_process import Event, LiveReader
from tests.reference.episodes import SlowEpisodes
from tests.reference.oracle import QueryVersion

Pick = tuple[str, str]  # sensor and detection id

PAIR = (("a", "p_many"), ("b", "p_many"))
NEAR = QueryVersion("near", 1, PAIR, -0.5, 0.5, 0.6)
AFTER = QueryVersion("after", 1, PAIR, 0.0, 0.5, 0.6)


@pytest.fixture
def scenario(posted: Hour) -> Scenario:
    return posted.many


def pairs(scenario: Scenario, version: QueryVersion) -> dict[tuple[Pick, Pick], float]:
    expected = scenario.expected(version)
    assert not any(match.borderline for match in expected.values())
    return {(a[1:], b[1:]): expected[query, (a, b)].probability for query, (a, b) in expected}


def triples(near: dict[tuple[Pick, Pick], float]) -> set[frozenset[Pick]]:
    neighbours: defaultdict[Pick, set[Pick]] = defaultdict(set)
    for a, b in near:
        neighbours[a].add(b)
        neighbours[b].add(a)
    return {frozenset({a, b, c}) for a, b in near for c in neighbours[a] & neighbours[b]}


def members(match: dict[str, Any]) -> tuple[Pick, ...]:
    return tuple((member["sensor"], member["id"]) for member in match["members"])


@on_both
def test_live_matches_are_the_triples_and_the_pairs_without_a_third(line: Line, scenario: Scenario) -> None:
    near = pairs(scenario, NEAR)
    three = triples(near)
    in_three = {frozenset(pair) for pair in near if any(frozenset(pair) < each for each in three)}
    sets = [frozenset(members(match)) for match in line.matches("two-of-three", "many")]
    assert len(sets) == len(set(sets))
    assert set(sets) == three | ({frozenset(pair) for pair in near} - in_three)
    assert (len(three), len(sets) - len(three)) == (2064, 206)


@on_one
def test_superseded_ones_are_part_of_what_superseded_them(line: Line, scenario: Scenario) -> None:
    every = line.pages("/v1/matches", {"query": "two-of-three", "area": "many", "superseded": "any"})
    stored = {match["id"]: match for match in every}
    superseded = [match for match in stored.values() if "superseded_by" in match]
    assert len(superseded) > 50  # as it happens: each pair waited for its third pick
    for match in superseded:
        larger = stored[match["superseded_by"]]
        assert set(members(match)) < set(members(larger))
        assert match["id"] in larger["supersedes"]
    named = {id_ for match in stored.values() for id_ in match["supersedes"]}
    assert named == {match["id"] for match in superseded}


@on_one
def test_a_path_is_two_pairs_that_share_a_pick(line: Line, scenario: Scenario) -> None:
    after = pairs(scenario, AFTER)
    seconds: defaultdict[Pick, list[Pick]] = defaultdict(list)
    for first, second in after:
        seconds[first].append(second)
    rows = {(a, b, c) for a, b in after for c in seconds[b] if len({a[0], b[0], c[0]}) == 3}
    matches = {members(match): match for match in line.matches("in-a-row", "many")}
    assert matches.keys() == rows
    assert len(rows) == 3712
    for (a, b, c), match in matches.items():
        of_edges = [edge["probability"] for edge in match["edges"]]
        assert of_edges == pytest.approx([after[a, b], after[b, c]], abs=1e-9)
        assert match["probability"] <= min(of_edges) + 1e-12
        assert (match["occurred"], match["supersedes"]) == (None, [])
        assert (match["chance_rate_hz"] is None) == ("chance_rate_hz" in match["unknown"])


@on_both
def test_the_live_stream_from_the_beginning_leads_to_the_same(line: Line, scenario: Scenario) -> None:
    wanted = {match["id"] for match in line.matches("two-of-three", "many")}
    reader = LiveReader("query=two-of-three", last_event_id="0")
    reader.read(line.system.layout.url("alerting"), until=lambda events: live_ids(events) == wanted)


def live_ids(events: list[Event]) -> set[str]:
    """Return the matches that a page shows after these events."""
    view: set[str] = set()
    for kind, data in events:
        (view.add if kind == "match" else view.discard)(data["id"])
    return view


@on_one
def test_episodes_of_paths_are_those_of_the_live_matches(line: Line, scenario: Scenario) -> None:
    assert_episodes(line, "in-a-row", AFTER_RULE)


@on_both
def test_episodes_are_those_of_the_live_matches(line: Line, scenario: Scenario) -> None:
    assert_episodes(line, "two-of-three", NEAR_RULE)


def assert_episodes(line: Line, query: str, rule: dict[str, Any]) -> None:
    expected = SlowEpisodes(rule, {("many", match["id"]): match for match in line.matches(query, "many")}).content()
    episodes = line.pages("/v1/episodes", {"query": query, "area": "many"})
    assert {episode["id"] for episode in episodes} == expected.keys()
    assert len(episodes) == len(expected) > 20
    for episode in episodes:
        wanted = expected[episode["id"]]
        assert {field: episode[field] for field in wanted} == {**wanted, "members": wanted["members"][:200]}
