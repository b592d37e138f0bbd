"""Queries as SQL over REST: put, read, explained, and refused with the line and the column."""

from typing import Any

import pytest
from httpx2 import Response

from coincide.queries.sql import LONGEST_TEXT
from tests.services.alerting.api.test_explain import register
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import change_record, query

PATH = "/v1/queries/intruder"
PAPERS = "SELECT * FROM seismic s, acoustic a\nWHERE WINDOW(s, a) = 2000 WITH THRESHOLD 0.6"
SQL, JSON = {"Content-Type": "text/plain; charset=utf-8"}, {"Accept": "application/json"}


def put(api: Api, content: str | bytes, **headers: str) -> Response:
    return api.client.put(PATH, content=content, headers={**SQL, **headers})


def test_the_papers_query_is_put_and_read_in_both_forms(api: Api) -> None:
    made = put(api, PAPERS)
    assert (made.status_code, made.json()["query"]) == (201, {**query(), "sensors": "different"})
    as_text = api.client.get(PATH, headers={"Accept": "text/plain"})
    assert as_text.headers["content-type"] == "text/plain; charset=utf-8"
    assert as_text.text == PAPERS.replace("2000", "2 s") + "\n"
    assert as_text.headers["etag"] == made.headers["etag"]
    assert api.client.get(PATH, headers=JSON).json()["query"] == made.json()["query"]
    again = put(api, as_text.text, **{"If-Match": "*"})
    assert (again.status_code, again.headers["etag"]) == (200, made.headers["etag"])  # nothing changed
    changed = put(api, as_text.text.replace("0.6", "0.7"), **{"If-Match": made.headers["etag"]}).json()
    assert (changed["version"], changed["query"]["within"][0]["threshold"]) == (2, 0.7)
    assert [each["action"] for each in api.records.changes] == ["query.created", "query.changed"]


@pytest.mark.parametrize(
    ("accept", "is_sql"),
    [
        ("text/plain", True),
        ("application/sql", True),
        ("application/json;q=0.5, text/plain", True),
        ("text/html, */*;q=0.8", False),
        ("text/plain;q=0", False),
        ("application/json, text/plain", False),
        ("image/png", False),
        ("*/*", False),
    ],
)
def test_the_header_accept_chooses_and_json_is_the_default(api: Api, accept: str, is_sql: bool) -> None:
    put(api, PAPERS)
    answer = api.client.get(PATH, headers={"Accept": accept})
    assert answer.text.startswith("SELECT") is is_sql
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        (PAPERS.replace("FROM", "FRM"), 1, 10, "line 1, column 10: is 'FRM': expected FROM"),
        (PAPERS.replace("0.6", "2"), 2, 7, "within[0].threshold: is 2.0: above 0 and at most 1, at line 2, column 7"),
        (PAPERS + ' ALERT {"title": "{x}"}', 2, 46, "alert.title: has {x}"),
        ("", 1, 1, "line 1, column 1: is the end: expected SELECT"),
        (PAPERS.ljust(LONGEST_TEXT + 1), 1, 1, f"text: has {LONGEST_TEXT + 1} characters: at most {LONGEST_TEXT}"),
    ],
)
def test_a_fault_has_its_line_and_its_column(api: Api, text: str, line: int, column: int, said: str) -> None:
    refused = put(api, text)
    assert refused.status_code == 422
    problem = refused.json()
    assert (problem["line"], problem["column"]) == (line, column)
    assert said in problem["detail"]
    assert api.client.get(PATH).status_code == 404


def test_bytes_that_are_no_text_a_body_too_large_and_a_bad_id_are_refused(api: Api) -> None:
    assert "not UTF-8" in put(api, b"SELECT \xff").json()["detail"]
    assert put(api, b" " * 70_000).status_code == 413
    bad = api.client.put("/v1/queries/a b", content=PAPERS, headers=SQL).json()
    assert (bad["field"], "line" in bad) == ("id", False)
    unknown = put(api, PAPERS.replace("seismic", "SEISMIC")).json()
    assert (unknown["field"], "not declared" in unknown["detail"]) == ("from.s", True)


def test_only_a_query_may_be_text(api: Api) -> None:
    put(api, PAPERS)
    for method, path in (("PATCH", PATH), ("PUT", "/v1/receivers/r")):
        assert api.client.request(method, path, content="{}", headers={**SQL, "If-Match": "*"}).status_code == 415


def test_a_query_by_a_newer_alerting_has_no_text_here(api: Api) -> None:
    newer: dict[str, Any] = {**query("newer"), "colour": "red"}
    api.store(change_record("newer", 1, query=newer))
    assert api.client.get("/v1/queries/newer", headers={"Accept": "text/plain"}).status_code == 409
    assert api.client.get("/v1/queries/newer").json()["query"] == newer


def test_a_query_is_explained_as_text_as_it_is_as_json(api: Api) -> None:
    register(api)
    path = f"{PATH}/explain"
    as_sql = api.client.post(path, content=PAPERS, headers={"Content-Type": "application/sql"})
    assert (as_sql.status_code, as_sql.json()) == (200, api.client.post(path, json=query()).json())
    refused = api.client.post(path, content="SELECT", headers={"Content-Type": "application/sql"}).json()
    assert (refused["line"], refused["column"]) == (1, 7)
