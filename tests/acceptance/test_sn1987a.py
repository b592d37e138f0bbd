"""The neutrinos of SN1987A through the whole system: the figures that a window over plain times cannot give."""

from math import log2
from typing import Any

import pytest

from deploy.local.system import System
from services.demo import sn1987a
from services.demo.programme import applied_query, matches_of, the_supernova
from services.demo.sn1987a import ALL_THREE, ANY_TWO, SUPERNOVA, TWO_OF_THREE
from tests.on_lines import on_both_whole

pytestmark = on_both_whole

Live = dict[str, list[dict[str, Any]]]  # matches by query

FIRST_EVENTS = {"imb-1", "baksan-1", "kamiokande-ii-1"}


def members_of(matches: list[dict[str, Any]]) -> list[frozenset[str]]:
    return [frozenset(member["id"] for member in match["members"]) for match in matches]


@pytest.mark.parametrize(
    ("first", "second", "probability"),
    [
        ("imb-1", "baksan-1", 20 / 56),  # Baksan's clock leaves 56 s, IMB's event may be anywhere in 20 s of them
        ("kamiokande-ii-1", "imb-1", 20 / 120),  # Kamiokande II's leaves 120 s
    ],
)
def test_first_events_within_10_s(live: Live, first: str, second: str, probability: float) -> None:
    [match] = [match for match in live[ANY_TWO] if members_of([match]) == [{first, second}]]
    assert match["probability"] == pytest.approx(probability, abs=1e-12)


def test_every_pair_of_detectors_matches_and_no_other_pair(whole: System, live: Live) -> None:
    pairs = members_of(live[ANY_TWO])
    assert len(pairs) == len(set(pairs)) == 11 * 8 + 11 * 5 + 8 * 5
    assert set(pairs) == sn1987a.expected_matches(applied_query(whole, ANY_TWO))


def test_plain_times_never_pair_baksan_with_another(live: Live) -> None:
    summary = {pair.detectors: pair for pair in sn1987a.by_detectors(live[ANY_TWO], window_s=10)}
    assert summary["imb", "baksan"].first_events_apart_s == pytest.approx(30.444, abs=1e-6)
    assert summary["imb", "baksan"].point_matches == summary["kamiokande-ii", "baksan"].point_matches == 0
    assert summary["imb", "baksan"].matches == 8 * 5


def test_all_three_first_events_within_10_s(live: Live) -> None:
    """Of the 120 s x 56 s that two clocks allow, 300 s² are within 10 s of IMB's event and of each other."""
    [match] = [each for each in live[ALL_THREE] if members_of([each]) == [FIRST_EVENTS]]
    assert match["probability"] == pytest.approx(5 / 112, abs=1e-9)
    of_edges = sorted(edge["probability"] for edge in match["edges"])
    assert of_edges == pytest.approx([20 / 120, 20 / 120, 20 / 56], abs=5e-7)
    assert match["supersedes"] == []
    [summary] = sn1987a.by_detectors(live[ALL_THREE], window_s=10, members=3)
    assert summary.first_events_apart_s == pytest.approx(36.818, abs=1e-6)
    assert (summary.matches, summary.point_matches) == (11 * 8 * 5, 0)


def test_every_three_events_of_different_detectors_are_one_match(live: Live) -> None:
    for query in (ALL_THREE, TWO_OF_THREE):
        triples = members_of(live[query])
        assert len(triples) == len(set(triples)) == 11 * 8 * 5
        assert {len(triple) for triple in triples} == {3}


def test_two_of_three_were_live_until_the_third_came(whole: System, live: Live) -> None:
    """How many depends on who posted first: 11 + 8, 11 + 5 or 8 + 5 events make pairs, or the third was quicker."""
    members = {match["id"]: set(members_of([match])[0]) for match in live[TWO_OF_THREE]}
    superseded = matches_of(whole, TWO_OF_THREE, superseded="true")
    assert superseded
    for match in superseded:
        assert set(members_of([match])[0]) < members[match["superseded_by"]]
    assert matches_of(whole, ALL_THREE, superseded="true") == []


def test_the_whole_burst_is_one_episode(whole: System, live: Live) -> None:
    matches = live[TWO_OF_THREE]
    [episode] = episodes_of(whole, TWO_OF_THREE)
    assert episode["count"] == 11 * 8 * 5
    assert {member["id"] for member in episode["members"]} == set().union(*members_of(matches))
    assert (len(episode["members"]), episode["members_truncated"], episode["final"]) == (11 + 8 + 5, False, True)
    assert episode["best_probability"] == max(match["probability"] for match in matches)
    assert episode["start_us"] == min(match["occurred"]["p05_us"] for match in matches)
    assert episode["end_us"] == max(match["occurred"]["p95_us"] for match in matches)


def episodes_of(system: System, query: str) -> list[dict[str, Any]]:
    return list(system.alerting.get("/v1/episodes", params={"query": query}).json()["items"])


@pytest.mark.usefixtures("live")
def test_the_three_bursts_are_one_event_and_tell_how_slow_two_clocks_were(whole: System) -> None:
    """By hand: log2 of 2 a century / s, three times 0.9 / (1 / 86,400), and 1 / (120 * 56) by IMB's exact time."""
    match = the_supernova(whole)
    assert {member["id"] for member in match["members"]} == {f"{each}-burst-1" for each in sn1987a.DETECTORS}
    assert match["probability"] == pytest.approx(5 / 112, abs=1e-9)
    bits = log2(5.48e-5 / 86_400) + 3 * log2(0.9 * 86_400) - log2(120 * 56)
    assert match["evidence"]["bits"] == pytest.approx(bits, abs=0.01)
    assert match["evidence"]["posterior"] == pytest.approx(0.978, abs=0.001)
    slow = {clock["id"]: clock["mean_s"] for clock in match["occurred"]["clocks"]}
    assert slow == {"kamiokande-ii": pytest.approx(6.4, abs=0.05), "baksan": pytest.approx(-30.4, abs=0.05)}
    [episode] = episodes_of(whole, SUPERNOVA)
    assert (episode["count"], episode["evidence"]["posterior"]) == (1, match["evidence"]["posterior"])
