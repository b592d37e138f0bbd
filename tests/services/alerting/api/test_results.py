import json
import re
from functools import partial

import pytest

from tests.services.alerting.clients import Api
from tests.services.alerting.records import RECEIVED_AT_MS, TOPICS, dead_letter_record, match, match_record, record


def test_pages_hold_everything_once_although_matches_keep_coming(api: Api) -> None:
    api.store(*[match_record(f"m-{n:02}") for n in range(10)])
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.client.get("/v1/matches", params={"limit": "3", "sensor": "imb", **cursor}).json()
        ids += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        api.store(match_record(f"new-{len(ids)}"))
    assert ids == [f"m-{n:02}" for n in reversed(range(10))]


def test_a_full_last_page_has_no_cursor(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(3)])
    page = api.client.get("/v1/matches").json()
    assert len(page["items"]) == 3  # page_items
    assert page["next_cursor"] is None


def test_a_match_is_served_as_it_was_written(api: Api) -> None:
    stored = api.store(match_record("m-1"))

    assert api.client.get("/v1/matches/m-1").json() == match("m-1")
    page = api.client.get("/v1/matches").json()
    assert page["items"] == [match("m-1")]
    assert page["last_event_id"] == str(stored[-1].sequence)
    missing = api.client.get("/v1/matches/m-2")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_live_matches_are_shown_and_superseded_ones_where_asked_for(api: Api) -> None:
    pair = match("m-2", edges=[{"between": ["a", "b"], "probability": 0.5}], supersedes=[])
    triple = match("m-3", sensors=("imb", "baksan", "kamiokande-ii"), supersedes=["m-2"], occurred=None)
    api.store(*[record(TOPICS.matches, each) for each in (pair, triple)])
    taken_back = {**pair, "superseded_by": "m-3"}

    items = partial(api.items, "/v1/matches")
    assert items() == items(superseded="false") == [triple]
    assert items(superseded="true") == [taken_back]
    assert items(superseded="any") == [triple, taken_back]
    assert items(sensor="kamiokande-ii") == [triple]
    assert api.client.get("/v1/matches/m-2").json() == taken_back
    assert api.client.get("/v1/matches/m-3").json() == triple


def test_a_match_superseded_between_two_pages_is_left_out(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(3)])
    first = api.client.get("/v1/matches?limit=1").json()
    api.store(match_record("m-9", supersedes=["m-1"]))
    rest = api.client.get("/v1/matches", params={"cursor": first["next_cursor"]}).json()
    assert [item["id"] for item in rest["items"]] == ["m-0"]


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
        ("/v1/matches?limit=0", "limit"),
        ("/v1/matches?limit=51", "limit: is 51: from 1 to 50"),
        ("/v1/matches?limit=x", "limit"),
        ("/v1/matches?min_probability=1.1", "min_probability"),
        ("/v1/matches?min_probability=nan", "min_probability"),
        ("/v1/matches?from=1987", "from"),
        ("/v1/matches?superseded=yes", "superseded"),
        ("/v1/matches?cursor=abc", "cursor"),
        ("/v1/matches?sensr=imb", "sensr"),
        ("/v1/dead-letters?cursor=abc", "cursor"),
        ("/v1/dead-letters?min_probability=1", "min_probability"),
        ("/v1/dead-letters?to=tomorrow", "to"),
    ],
)
def test_bad_parameters_are_named(api: Api, path: str, named: str) -> None:
    response = api.client.get(path)
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")
    assert named in response.json()["detail"]


def test_a_cursor_belongs_to_its_filters(api: Api) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(5)])
    cursor = api.client.get("/v1/matches?limit=2").json()["next_cursor"]
    assert api.client.get("/v1/matches", params={"cursor": cursor}).status_code == 200
    other = api.client.get("/v1/matches", params={"cursor": cursor, "area": "bay"})
    assert other.status_code == 422


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
    assert ids(reason="late", area="bay") == ["d-2"]
    assert ids(sensor="s9") == ["d-1"]
    assert ids(to=str(RECEIVED_AT_MS * 1000)) == ["d-3", "d-1"]
    assert ids(**{"from": str(RECEIVED_AT_MS * 1000 + 1)}) == ["d-2"]
    first = api.client.get("/v1/dead-letters", params={"limit": "2"}).json()
    rest = api.client.get("/v1/dead-letters", params={"cursor": first["next_cursor"]}).json()
    assert [item["dead_id"] for item in rest["items"]] == ["d-1"]


def test_the_openapi_document_refers_only_to_what_it_holds(api: Api) -> None:
    text = json.dumps(api.client.get("/openapi.json").json())
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert named == set(json.loads(text)["components"]["schemas"])
