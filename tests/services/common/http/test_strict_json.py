import pytest

from services.common.http.strict_json import BodyError, parse_json


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[NaN]", b"[1e999]", b'["\\ud800"]', b"\xff", b"[" * 60_000, b"[1] [2]", b'{"a":-Infinity}']
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(BodyError, match="not JSON") as refused:
        parse_json(body)
    assert refused.value.members == {"allowed": "JSON as RFC 8259 has it"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"a":1,"a":1}', "a"),
        (b'[{"b":{"a":1,"c":2,"a":3}}]', "a"),
        (b'{"a":1,"\\u0061":2}', "a"),
        (b'{"":1,"":2}', ""),
        (b'{"\\ud800":1,"\\ud800":2}', "\\ud800"),
    ],
)
def test_a_member_that_stands_twice_is_named(body: bytes, field: str) -> None:
    with pytest.raises(BodyError, match="stands 2 times") as refused:
        parse_json(body)
    assert refused.value.members["field"] == field


def test_what_is_json_is_returned() -> None:
    assert parse_json('{"a": [1, 2.5, null, "é", {"a": true}]}'.encode()) == {"a": [1, 2.5, None, "é", {"a": True}]}
