import json
import re
from functools import partial
from typing import Any

import pytest

from coincide import Histogram, Stream
from services.alerting.api.results import SUREST
from services.common.http.pages import encode_cursor
from services.common.http.problem import Problem
from tests.coincide.fusion.inputs import STREAMS, Row, frame, put, started
from tests.coincide.fusion.outputs import matches
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    TOPICS,
    change_record,
    dead_letter_record,
    evidence,
    evidence_record,
    match,
    match_record,
    record,
    shown,
)


def test_pages_hold_everything_once_although_matches_keep_coming(api: Api) -> None:
    api.store(*[match_record(f"m-{n:02}") for n in range(10)])
    ids: list[str] = []
    for items in api.pages("/v1/matches", limit="3", sensor="imb"):
        ids += [item["id"] for item in items]
        api.store(match_record(f"new-{len(ids)}"))
    assert ids == [f"m-{n:02}" for n in reversed(range(10))]


def test_a_full_last_page_has_no_cursor(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(3)])
    page = api.client.get("/v1/matches").json()
    assert len(page["items"]) == 3  # page_items
    assert page["next_cursor"] is None


def test_a_match_is_served_as_it_was_written_with_what_alerting_does_not_look_at(api: Api) -> None:
    occurred = {"mean_us": 1, "std_s": 0.5, "p05_us": 0, "p95_us": 2, "mode_us": 1}
    said: dict[str, Any] = {"occurred": occurred, "chance_rate_hz": 1.25e-05, "new": [None]}
    stored = api.store(match_record("m-1", **said))
    assert api.client.get("/v1/matches/m-1").json() == shown(match("m-1", **said))
    page = api.client.get("/v1/matches").json()
    assert (page["items"], page["last_event_id"]) == ([shown(match("m-1", **said))], str(stored[-1].sequence))
    missing = api.client.get("/v1/matches/m-2")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_live_matches_are_shown_and_superseded_ones_where_asked_for(api: Api) -> None:
    pair = match("m-2", edges=[{"between": ["a", "b"], "probability": 0.5}], supersedes=[])
    triple = match("m-3", sensors=("imb", "baksan", "kamiokande-ii"), supersedes=["m-2"], occurred=None)
    api.store(*[record(TOPICS.matches, each) for each in (pair, triple)])
    pair, triple = shown(pair), shown(triple)
    taken_back = {**pair, "superseded_by": "m-3"}

    items = partial(api.items, "/v1/matches")
    assert items() == items(superseded="false") == [triple]
    assert items(superseded="true") == [taken_back]
    assert items(superseded="any") == [triple, taken_back]
    assert items(sensor="kamiokande-ii") == [triple]
    assert api.client.get("/v1/matches/m-2").json() == taken_back
    assert api.client.get("/v1/matches/m-3").json() == triple


def test_a_least_probability_is_that_which_the_query_thresholds(api: Api) -> None:
    """The same detections, fused by a query with a joint threshold and by one with thresholds of its edges."""
    unsure, roles = Histogram.uniform(-1, 1), {"a": "p", "b": "s", "c": "t"}
    edges = {"id": "edges", "from": roles, "form": "path", "within": [{"window_s": 1.5, "threshold": 0.3}]}
    joint = {**edges, "id": "joint", "within": [{"window_s": 1.5}], "joint_threshold": 0.3}
    streams = {**STREAMS, "t": Stream("t", max_delay_s=20, longest_template_s=8)}
    core = started(put(0, edges), put(1, joint), streams=streams)
    before = [Row(f"{stream}{n}", 1001 + n, stream=stream, sensor=stream) for n, stream in enumerate("pst")]
    core.push([frame(nth, [row]) for nth, row in enumerate([Row("p", 940), *before, Row("q", 1065)])])
    places = [("p1", 1070), ("s1", 1071), ("t1", 1072.25)]
    rows = [Row(name, at_s, Histogram.point() if name == "p1" else unsure, name[0], name) for name, at_s in places]
    fused = matches(core.push([frame(9, rows)]))
    api.store(*[record(TOPICS.matches, each) for each in fused])

    by_query = {each["query"]: each for each in api.items("/v1/matches")}
    assert by_query == {each["query"]: shown(each) for each in fused}
    assert by_query["joint"]["probability"] == by_query["joint"]["joint"]["probability"]
    least = min(edge["probability"] for edge in by_query["edges"]["edges"])
    assert by_query["edges"]["probability"] == least > by_query["edges"]["joint"]["probability"]
    rates = [by_query[name]["chance_rate_hz"] for name in ("edges", "joint")]
    assert min(rates) > 0
    errors = [by_query[name]["chance_rate_error_hz"] for name in ("edges", "joint")]
    assert errors[0] == 0 < errors[1]
    between = (least + by_query["edges"]["joint"]["probability"]) / 2
    assert [each["query"] for each in api.items("/v1/matches", min_probability=str(between))] == ["edges"]


def test_a_match_superseded_between_two_pages_is_left_out(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(3)])
    pages = api.pages("/v1/matches", limit="1")
    assert [item["id"] for item in next(pages)] == ["m-2"]
    api.store(match_record("m-9", supersedes=["m-1"]))
    assert [item["id"] for item in next(pages)] == ["m-0"]


ORDERS = ("newest", "posterior")
POSTERIORS = {"m-0": 0.5, "m-1": 0.997, "m-2": None, "m-3": 0.5, "m-5": 0.003}


def store_judged(api: Api) -> None:
    """Six matches, all but m-4 with evidence, which came in another order."""
    api.store(change_record("sn1987a", 1), *[match_record(f"m-{n}") for n in range(6)])
    api.store(*[evidence_record(id_, posterior) for id_, posterior in POSTERIORS.items()])


def test_matches_by_how_sure_it_is_that_they_are_one_event(api: Api) -> None:
    store_judged(api)
    ids = partial(ids_of, api)
    assert ids(order="posterior") == ["m-1", "m-3", "m-0", "m-5"]
    assert ids(min_posterior="0.5") == ["m-3", "m-1", "m-0"]
    assert ids(min_posterior="0.5", order="posterior", query="sn1987a") == ["m-1", "m-3", "m-0"]
    assert ids(min_posterior="0") == ["m-5", "m-3", "m-1", "m-0"]
    [surest] = api.items("/v1/matches", order="posterior", limit="1")
    assert surest == shown(match("m-1"), evidence("m-1", 0.997))


def test_pages_of_the_surest_hold_everything_once_although_surer_and_less_sure_ones_keep_coming(api: Api) -> None:
    api.store(*[match_record(f"m-{n:02}") for n in range(10)])
    api.store(*[evidence_record(f"m-{n:02}", (n % 4) / 4) for n in range(10)])
    api.store(match_record("waiting"))
    ids: list[str] = []
    for items in api.pages("/v1/matches", limit="3", order="posterior"):
        ids += [item["id"] for item in items]
        for posterior in (0.0, 0.3, 1.0):
            new = f"new-{len(ids)}-{posterior}"
            api.store(match_record(new), evidence_record(new, posterior))
        api.store(evidence_record("waiting", 0.2))
    assert ids == [f"m-{n:02}" for n in sorted(range(10), key=lambda n: (n % 4, n), reverse=True)]


def test_pages_of_the_surest_of_two_queries_are_one_list(api: Api) -> None:
    api.store(change_record("a", 1), change_record("b", 1))
    api.store(*[match_record(f"m-{n}", query="ab"[n % 2]) for n in range(8)])
    api.store(*[evidence_record(f"m-{n}", (n * 3 % 8) / 8, query="ab"[n % 2]) for n in range(8)])
    pages = list(api.pages("/v1/matches", limit="3", order="posterior", query="a,b"))
    told = [item["evidence"]["posterior"] for page in pages for item in page]
    assert told == [n / 8 for n in reversed(range(8))]


def test_a_cursor_of_one_order_is_none_of_the_other(api: Api) -> None:
    store_judged(api)
    of = {order: api.client.get(f"/v1/matches?limit=1&order={order}").json()["next_cursor"] for order in ORDERS}
    for order, other in (ORDERS, ORDERS[::-1]):
        assert api.client.get("/v1/matches", params={"cursor": of[order], "order": order}).status_code == 200
        refused = api.client.get("/v1/matches", params={"cursor": of[order], "order": other})
        assert (refused.status_code, "cursor" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize("place", ["", "0.5 1", "0.5 1 2 3", "x 1 2", "nan 1 2", "2 1 2", "0.5 -1 2", f"0.5 1 {2**63}"])
def test_a_cursor_that_somebody_made_up_is_refused(place: str) -> None:
    with pytest.raises(Problem, match="next_cursor"):
        SUREST.decode((), encode_cursor((), place))


def ids_of(api: Api, **filters: str) -> list[str]:
    return [item["id"] for page in api.pages("/v1/matches", **filters) for item in page]


def test_times_overlap_with_closed_ends(api: Api) -> None:
    at_us = 541_064_135_000_000  # 1987-02-23T07:35:35Z
    api.store(match_record("m-1", earliest_us=at_us, latest_us=at_us + 2_000_000))
    items = partial(api.items, "/v1/matches")
    assert len(items(**{"from": "1987-02-23T07:35:37Z"})) == 1
    assert items(**{"from": "1987-02-23T07:35:37.000001Z"}) == []
    assert len(items(to="1987-02-23T16:35:35+09:00")) == 1
    assert items(to=str(at_us - 1)) == []


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("matches?limit=0", ["limit"]),
        ("matches?limit=51", ["limit: is 51: from 1 to 50"]),
        ("matches?limit=x", ["limit"]),
        ("matches?min_probability=1.1", ["min_probability"]),
        ("matches?min_probability=nan", ["min_probability"]),
        ("matches?min_posterior=1.1", ["min_posterior", "1.1", "1"]),
        ("matches?order=surest", ["order", "surest", "newest", "posterior"]),
        ("matches?order=posterior&cursor=abc", ["cursor", "abc"]),
        ("matches?from=1987", ["from"]),
        ("matches?superseded=yes", ["superseded"]),
        ("matches?cursor=abc", ["cursor"]),
        ("matches?sensr=imb", ["sensr"]),
        ("matches?area=bay%00", ["NUL"]),
        ("matches/m%00", ["NUL"]),
        ("dead-letters?cursor=abc", ["cursor"]),
        ("dead-letters?min_probability=1", ["min_probability"]),
        ("dead-letters?to=tomorrow", ["to"]),
        ("episodes?limit=51", ["limit", "51", "from 1 to 50"]),
        ("episodes?min_probability=1.1", ["min_probability", "1.1", "1"]),
        ("episodes?from=1987", ["from", "1987", "RFC 3339"]),
        ("episodes?state=ended", ["state", "ended", "open", "closed", "final"]),
        ("episodes?retracted=yes", ["retracted", "yes", "false", "true", "any"]),
        ("episodes?cursor=abc", ["cursor", "abc"]),
        ("episodes?sensor=imb", ["sensor"]),
        ("episodes/e-1/revisions?limit=0", ["limit", "0", "1"]),
        ("episodes/e-1/revisions?cursor=abc", ["cursor", "abc"]),
        ("episodes/e-1/revisions?state=open", ["state"]),
    ],
)
def test_bad_parameters_are_named_with_what_is_allowed(quiet_api: Api, path: str, named: list[str]) -> None:
    response = quiet_api.client.get(f"/v1/{path}")
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")
    assert [word for word in named if word not in response.json()["detail"]] == []


def test_a_cursor_belongs_to_its_filters(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(5)])
    cursor = api.client.get("/v1/matches?limit=2").json()["next_cursor"]
    assert api.client.get("/v1/matches", params={"cursor": cursor}).status_code == 200
    other = api.client.get("/v1/matches", params={"cursor": cursor, "area": "bay"})
    assert (other.status_code, "other filters" in other.json()["detail"]) == (422, True)


def test_dead_letters_by_what_they_say(api: Api) -> None:
    api.store(
        dead_letter_record("d-1", source="ingest", reason="unknown_sensor", area=None, sensor="s9"),
        dead_letter_record("d-2", area="bay", timestamp=RECEIVED_AT_MS + 1),
        dead_letter_record("d-3", area="ridge"),
    )

    def ids(**filters: str) -> list[str]:
        return [item["dead_id"] for item in api.items("/v1/dead-letters", **filters)]

    assert ids() == ["d-3", "d-2", "d-1"]
    assert ids(source="ingest") == ["d-1"]
    refused = api.client.get("/v1/dead-letters", params={"source": "gateway"})
    assert (refused.status_code, refused.json()["allowed"]) == (422, "'ingest' or 'fusion'")
    assert ids(reason="late", area="bay") == ["d-2"]
    assert ids(sensor="s9") == ["d-1"]
    assert ids(to=str(RECEIVED_AT_MS * 1000)) == ["d-3", "d-1"]
    assert ids(**{"from": str(RECEIVED_AT_MS * 1000 + 1)}) == ["d-2"]
    assert [[item["dead_id"] for item in page] for page in api.pages("/v1/dead-letters", limit="2")][1:] == [["d-1"]]


def test_the_openapi_document_refers_only_to_what_it_holds(api: Api) -> None:
    text = json.dumps(api.client.get("/openapi.json").json())
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert named == set(json.loads(text)["components"]["schemas"])
