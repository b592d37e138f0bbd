"""Queries are changed while the hour is running: every match's version and probability agree with the rule.

A pair belongs to the version that is in force when its second member is processed, provided that its first member was
processed after the query's activation: its creation, or the last change of its streams or window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.acceptance import italy
from tests.acceptance.line import Line, Scenario
from tests.reference import central_italy
from tests.reference.oracle import QueryVersion

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

PAIRS = (("one", "p_live"), ("other", "p_live"))

P_THEN_S = (("p", "p_live"), ("s", "s_live"))


def versions_of(first: QueryVersion, *changes: dict[str, Any]) -> list[QueryVersion]:
    return [first, *(replace(first, version=n, **change) for n, change in enumerate(changes, 2))]


STRICTER = versions_of(
    QueryVersion("stricter", 1, PAIRS, -1.0, 1.0, 0.5), {"threshold": 0.9, "since": 1}, {"threshold": 0.3, "since": 3}
)
PAUSED = versions_of(QueryVersion("paused", 1, PAIRS, -2.0, 2.0, 0.6), {"paused": True, "since": 1}, {"since": 2})
ADDED = versions_of(QueryVersion("added", 1, P_THEN_S, 0.5, 8.0, 0.9, "same", since=1), {"removed": True, "since": 3})
WIDENED = versions_of(QueryVersion("widened", 1, P_THEN_S, 0.5, 4.0, 0.8, "same"), {"hi_s": 8.0, "since": 2})


def test_every_match_has_the_version_that_was_in_force(line: Line) -> None:
    scenario = Scenario(line, "changes", streams="live")
    picks = italy.arrivals(seed=7)
    quarter = len(picks) // 4

    for query in (STRICTER[0], PAUSED[0], WIDENED[0]):
        line.put(query)
    scenario.post(picks[:quarter])

    scenario.begin_phase(1)
    line.set_threshold(STRICTER[1])
    line.set_paused(PAUSED[1])
    line.put(ADDED[0])
    scenario.post(picks[quarter : 2 * quarter])

    scenario.begin_phase(2)
    line.set_paused(PAUSED[2])
    line.put(WIDENED[1])
    scenario.post(picks[2 * quarter : 3 * quarter])

    scenario.begin_phase(3)
    line.set_threshold(STRICTER[2])
    line.remove(ADDED[1])
    scenario.post(picks[3 * quarter :])

    scenario.wait_until_dealt_with()
    for history, at_least in ((STRICTER, 2_000), (PAUSED, 2_000), (ADDED, 200), (WIDENED, 300)):
        scenario.assert_matches(*history, at_least=at_least)
        versions = {match.version for match in scenario.expected(*history).values()}
        assert versions == {each.version for each in history if not each.paused and not each.removed}


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_the_phases_are_mixed_enough_to_tell_a_wrong_rule() -> None:
    """Were a version wrongly decided by the first member, or a pause forgotten, these matches would differ."""
    scenario = Scenario(line=None, area="changes", streams="live")  # type: ignore[arg-type]
    picks = italy.arrivals(seed=7)
    quarter = len(picks) // 4
    for i, pick in enumerate(picks):
        phase = min(i // quarter, 3)
        scenario.accepted.append(italy.as_oracle_sees("changes", pick, str(i), phase, "live"))
    never_paused = scenario.expected(PAUSED[0])
    assert len(never_paused) - len(scenario.expected(*PAUSED)) > 500
    decided_by_window_alone = [*WIDENED[:1], replace(WIDENED[1], since=0)]
    assert scenario.expected(*decided_by_window_alone).keys() > scenario.expected(*WIDENED).keys()


def test_an_acknowledged_change_is_never_applied_after_a_later_post(line: Line) -> None:
    """Nobody waits between the PUT and the POST, thirty times over; a later version may overtake a POST, no older."""
    count = 30
    for version in range(1, count + 1):
        query = QueryVersion("order", version, italy.BELL.roles, -1.0, 1.0, 0.5 + version / 100)
        if version == 1:
            line.put(query)
        else:
            line.set_threshold(query)
        line.gateways().post(italy.bells("order", 1_476_403_200_000_000 + version * 10_000_000, str(version)))
    found = Scenario(line, "order").wait_for_matches("order", count)
    versions = {int(match["members"][0]["id"].split()[0]): match["query_version"] for match in found}
    assert versions.keys() == set(range(1, count + 1))
    assert all(number <= version <= count for number, version in versions.items()), versions
