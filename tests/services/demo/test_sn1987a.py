"""The demo's example file says what the papers say, and the library's own answer about it."""

import itertools
import json

import pytest

from coincide.queries import Query
from deploy.host.machine import ROOT
from services.alerting.queries.edits import load_queries
from services.common.settings import load_streams
from services.demo import sn1987a
from services.demo.harbour import BANG
from services.demo.sn1987a import ALL_THREE, ANY_TWO, DETECTORS, SUPERNOVA, TWO_OF_THREE, expected_matches


def test_the_example_has_every_event_in_order() -> None:
    events = {sensor: [json.loads(line) for line in body.splitlines()] for sensor, body in sn1987a.posts().items()}
    assert {sensor: len(each) for sensor, each in events.items()} == {"kamiokande-ii": 11, "imb": 8, "baksan": 5}
    for sensor, each in events.items():
        assert [event["id"] for event in each] == [f"{sensor}-{place}" for place in range(1, len(each) + 1)]
        assert sorted(each, key=lambda event: event["detected_at"]) == each


def query(**changes: object) -> Query:
    roles = {"a": "neutrino", "b": "neutrino", "c": "neutrino"}
    return Query.from_json({"id": "q", "from": roles, "form": "clique", "within": [{"window_s": 10}], **changes})


def pair_query(threshold: float) -> Query:
    roles = {"a": "neutrino", "b": "neutrino"}
    return query(**{"from": roles, "within": [{"between": ["a", "b"], "window_s": 10, "threshold": threshold}]})


def test_every_pair_is_expected_at_the_shipped_threshold_and_none_at_certainty() -> None:
    assert len(expected_matches(pair_query(0.15))) == 11 * 8 + 11 * 5 + 8 * 5
    assert len(expected_matches(pair_query(0.3))) == 8 * 5  # only IMB and Baksan know the time well enough
    assert expected_matches(pair_query(1.0)) == set()


def test_every_three_are_expected_below_their_joint_probability_and_pairs_only_where_no_third_fits() -> None:
    triples = 11 * 8 * 5  # each of probability 5/112
    assert len(expected_matches(query(joint_threshold=0.044))) == triples
    assert expected_matches(query(joint_threshold=0.045)) == set()
    assert {len(each) for each in expected_matches(query(joint_threshold=0.044, at_least=2))} == {3}
    assert len(expected_matches(query(joint_threshold=0.045, at_least=2))) == 11 * 8 + 11 * 5 + 8 * 5


def shipped_queries() -> list[Query]:
    shipped = load_queries(ROOT / "config/queries.yaml", load_streams(ROOT / "config/streams.yaml"))
    return [query for query in shipped if isinstance(query, Query)]


def test_the_shipped_queries_are_those_that_the_demo_shows() -> None:
    shipped = shipped_queries()
    assert tuple(query.id for query in shipped) == (SUPERNOVA, *sn1987a.QUERIES, BANG)
    expected = {query.id: len(expected_matches(query)) for query in shipped if query.id in sn1987a.QUERIES}
    assert expected == {ANY_TWO: 183, ALL_THREE: 440, TWO_OF_THREE: 440}


def test_the_table_has_a_row_for_every_pair_and_one_for_all_three() -> None:
    shipped = shipped_queries()
    first = [{"id": f"{detector}-1"} for detector in DETECTORS]
    matches = {ANY_TWO: [{"probability": 20 / 56, "members": first[1:]}]}
    matches[ALL_THREE] = [{"probability": 5 / 112, "members": first}]
    lines = sn1987a.table_of({query.id: query for query in shipped}, matches).splitlines()
    rows = [line.split() for line in lines]
    assert rows[0] == ["detectors", "apart", "P", "plain", "10", "s"]
    assert len({len(line) for line in lines}) == 1  # columns stand below each other
    explained = [line.split("  ")[0] for line in sn1987a.explanation(10).splitlines()]
    assert explained == ["apart", "P", "plain 10 s"]
    assert ["Kamiokande", "II", "-", "IMB", "-", "Baksan", "36.818", "s", "0.0446", "0"] in rows
    assert ["IMB", "-", "Baksan", "30.444", "s", "0.3571", "0"] in rows
    assert ["Kamiokande", "II", "-", "IMB", "6.374", "s", "none", "75"] in rows


def test_one_event_is_said_with_its_clocks_and_what_that_takes_for_granted() -> None:
    [asked] = [query for query in shipped_queries() if query.id == SUPERNOVA]
    clock = {"id": "kamiokande-ii", "mean_s": 6.36, "p05_s": -2.24, "p95_s": 14.96}
    match = {
        "members": [{"sensor": each} for each in DETECTORS],
        "occurred": {"mean_us": 541_064_141_374_000, "clocks": [clock]},
        "evidence": {"posterior": 0.9776},
    }
    assert sn1987a.one_event_sentences(match, asked).splitlines() == [
        "Kamiokande II, IMB and Baksan saw a burst of neutrinos at about 07:35:41.",
        "One event: 97.8%.",
        "It takes for granted that background makes 1 burst a day at each detector,",
        "and that there are 2 supernovae a century, each seen by 90% of them.",
        "The clock of Kamiokande II was 6.4 s slow; with 90 % between 2.2 s fast and 15.0 s slow.",
    ]


def test_the_bursts_begin_with_the_first_neutrinos() -> None:
    bursts = [json.loads(line) for line in sn1987a.bursts().splitlines()]
    first = {sensor: json.loads(body.splitlines()[0])["detected_at"] for sensor, body in sn1987a.posts().items()}
    assert {each["sensor"]: each["detected_at"] for each in bursts[:3]} == first
    assert [each["attributes"]["neutrinos"] for each in bursts] == [11, 8, 5, 7]


def test_the_summary_counts_matches() -> None:
    matches = [{"probability": 0.25, "members": [{"id": "baksan-1"}, {"id": "imb-1"}]}]
    summary = {pair.detectors: pair for pair in sn1987a.by_detectors(matches, window_s=10)}
    assert set(summary) == set(itertools.combinations(DETECTORS, 2))
    assert summary["imb", "baksan"].first_events_probability == 0.25
    assert summary["imb", "baksan"].first_events_apart_s == pytest.approx(30.444, abs=1e-6)
    assert {pair.matches for pair in summary.values()} == {0, 1}
    # by the clocks' word, Kamiokande II's 12 s and IMB's 6 s overlap; Baksan stands apart
    assert [summary[pair].point_matches for pair in summary] == [75, 0, 0]
