"""Queries are changed while the hour is running: every match's version and probability agree with the rule.

A pair belongs to the version that is in force when its second member is processed, provided that its first member was
processed after the query's activation: its creation, or the last change of its streams or window.
"""

from dataclasses import replace
from typing import Any

from tests.acceptance import italy
from tests.acceptance.line import Line, Scenario
from tests.acceptance.on_italy import on_one
from tests.reference.oracle import QueryVersion

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


@on_one
def test_every_match_has_the_version_that_was_in_force(line: Line) -> None:
    scenario = Scenario(line, "changes", streams="live")
    quarters = italy.parts(seed=7, count=4)

    for query in (STRICTER[0], PAUSED[0], WIDENED[0]):
        line.put(query)
    scenario.post(quarters[0])

    scenario.begin_phase(1)
    line.set_threshold(STRICTER[1])
    line.set_paused(PAUSED[1])
    line.put(ADDED[0])
    scenario.post(quarters[1])

    scenario.begin_phase(2)
    line.set_paused(PAUSED[2])
    line.put(WIDENED[1])
    scenario.post(quarters[2])

    scenario.begin_phase(3)
    line.set_threshold(STRICTER[2])
    line.remove(ADDED[1])
    scenario.post(quarters[3])

    scenario.wait_until_dealt_with()
    expected = {}
    for history, at_least in ((STRICTER, 2_000), (PAUSED, 2_000), (ADDED, 200), (WIDENED, 300)):
        matches = expected[history[0].query] = scenario.assert_matches(*history, at_least=at_least)
        versions = {match.version for match in matches.values()}
        assert versions == {each.version for each in history if not each.paused and not each.removed}

    # The phases are mixed enough: were a pause forgotten, or a version decided by the window alone, these would differ.
    assert len(scenario.expected(PAUSED[0])) - len(expected["paused"]) > 500
    assert scenario.expected(WIDENED[0], replace(WIDENED[1], since=0)).keys() > expected["widened"].keys()
