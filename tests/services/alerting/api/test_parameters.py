import base64

import pytest

from services.alerting.api.listings import instant_us
from services.alerting.store.match_rows import MatchFilter
from services.alerting.store.query_rows import QueryVersion
from services.common.http.pages import decode_cursor
from services.common.http.preconditions import Precondition, merge_patch
from services.common.http.problem import Problem
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import query

FIRST_AT_KAMIOKANDE_US = 541_064_135_000_000


@pytest.mark.parametrize(
    "text",
    [
        "1987-02-23T07:35:35Z",
        "1987-02-23t07:35:35.000000z",
        "1987-02-23T16:35:35+09:00",
        "1987-02-23T16:35:35 09:00",  # + in a query string that nobody escaped
        "1987-02-23 07:35:35Z",
        "1987-02-23 16:35:35+0900",
        "1987-02-23 16:35:35 09",
        "541064135000000",
    ],
)
def test_an_instant(text: str) -> None:
    assert instant_us(text) == FIRST_AT_KAMIOKANDE_US


@pytest.mark.parametrize(
    "text",
    ["", "now", "1987-02-23", "1987-02-23T07:35:35", "1987-W08-1T07:35:35Z", "541064135", "1e15", "-1", "9" * 18],
)
def test_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match=r"RFC 3339|month|day"):
        instant_us(text)


NOT_WRITTEN_HERE = [b"[]", b"{}", b'[true,"a"]', b'[-1,"a"]', b'[9223372036854775808,"a"]', b"\xff\xff", b"[" * 99]


@pytest.mark.parametrize(
    "cursor", ["", "x", "é", "!!!!", *(base64.urlsafe_b64encode(each).decode() for each in NOT_WRITTEN_HERE)]
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Problem) as refused:
        decode_cursor(MatchFilter(), cursor)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [  # RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: object, patch: object, merged: object) -> None:
    assert merge_patch(target, patch) == merged


QUERY_3 = QueryVersion("q", 3, False, False, 1, {})


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "current", "status"),
    [
        (None, None, None, None),
        (None, "*", None, None),
        ('"3"', None, None, 412),
        ("*", None, None, 412),
        (None, None, QUERY_3, 428),
        ("*", None, QUERY_3, None),
        ('"3"', None, QUERY_3, None),
        ('"1", "3"', None, QUERY_3, None),
        ('"2"', None, QUERY_3, 412),
        (None, "*", QUERY_3, 412),
        ("3", None, QUERY_3, 422),
        ('W/"3"', None, QUERY_3, 422),
        ('"x"', None, QUERY_3, 422),
        ("", None, QUERY_3, 422),
        (None, '"3"', QUERY_3, 422),
    ],
)
def test_preconditions(
    if_match: str | None, if_none_match: str | None, current: QueryVersion | None, status: int | None
) -> None:
    try:
        Precondition.parse(if_match, if_none_match).check(None if current is None else current.version, "query")
    except Problem as problem:
        assert problem.status == status  # noqa: PT017 - the cases that pass are in the same table
    else:
        assert status is None


def test_the_live_stream_refuses_queries_that_never_were_and_too_many(api: Api) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    for asked in ("query=nobody", "query=intruder,nobody", "query=intruder&query=nobody"):
        refused = api.client.get(f"/v1/live?{asked}")
        assert refused.status_code == 404
        assert refused.headers["content-type"].startswith("application/problem+json")
        assert "there is no query 'nobody'" in refused.json()["detail"]
    many = ",".join(f"q{nth}" for nth in range(21))
    assert api.client.get(f"/v1/live?query={many}").status_code == 422


def test_the_live_stream_calls_no_query_unknown_before_it_has_read_them_all(api: Api) -> None:
    """A browser comes back after a 503, and never after a 404."""
    api.progress._heard_at_s = None  # as at the start
    refused = api.client.get("/v1/live?query=nobody")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "'nobody' is not known yet" in refused.json()["detail"]
