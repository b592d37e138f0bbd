"""A list that takes too long to search is ended, and nothing else with it."""

from collections.abc import Iterator

import pytest

from tests.services.alerting.clients import SETTINGS, Api, running_api
from tests.services.alerting.sample_records import Database, match_record

STORED = 100_000
NO_MATCH_IS = {"min_probability": "0.9"}


@pytest.fixture
def hasty(database: Database) -> Iterator[Api]:
    """The API over many matches, with less time than to search them all takes."""
    database.store([match_record("m-1")])
    database.multiply_match(STORED)
    with running_api(database, SETTINGS.model_copy(update={"list_timeout_s": 0.002})) as api:
        yield api


def test_a_search_that_takes_too_long_is_ended_and_says_what_to_do(hasty: Api) -> None:
    for _ in range(3):
        refused = hasty.client.get("/v1/matches", params=NO_MATCH_IS)
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
        assert "list_timeout_s" in refused.json()["detail"]
        assert "`from` and `to`" in refused.json()["detail"]
    # What follows over the same connections is searched to its end, or found at once.
    streamed = hasty.client.get("/v1/matches", params={**NO_MATCH_IS, "format": "ndjson"})
    assert (streamed.status_code, streamed.text) == (200, "")
    assert hasty.client.get("/v1/matches/m-77").json()["id"] == "m-77"
    assert hasty.client.get("/v1/matches", params={**NO_MATCH_IS, "query": "sn1987a"}).status_code == 422
    assert hasty.items("/v1/matches", sensor="nobody") == []


def test_a_list_that_needs_no_longer_is_answered(database: Database) -> None:
    database.store([match_record("m-1")])
    database.multiply_match(STORED)
    with running_api(database) as api:
        assert api.items("/v1/matches", **NO_MATCH_IS) == []
