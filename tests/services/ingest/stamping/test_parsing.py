import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.ingest.stamping.parsing import Form, Item, _parse_carefully, _parse_clean, parse
from services.ingest.stamping.posted import PostedDetection
from services.ingest.verdicts import Refused

texts = st.text('ab:"\\{}[],é\n\x00☃', max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
names = st.sampled_from(["sensor", "detected_at", "id", "stream", "attributes", "uncertainty", "other"])
times = st.integers(0, 2**64) | st.just("2025-10-09T08:53:20Z")


@st.composite
def objects(draw: st.DrawFn) -> str:
    """Return JSON text of an object that is nearly a detection, with keys that may come twice and odd white space."""
    members: list[tuple[str, Any]] = [("sensor", "geo"), ("detected_at", draw(times))]
    members += draw(st.lists(st.tuples(names, values), max_size=2))
    colon = draw(st.sampled_from([":", " :", ": "]))
    ascii_only = draw(st.booleans())
    return "{" + ",".join(f'"{key}"{colon}{json.dumps(value, ensure_ascii=ascii_only)}' for key, value in members) + "}"


@given(st.lists(objects(), max_size=4), st.sampled_from(Form))
def test_what_the_quick_reader_takes_the_careful_one_reads_the_same(items: list[str], form: Form) -> None:
    body = ("[" + ",".join(items) + "]" if form is Form.JSON else "\n".join(items)).encode()
    quick = _parse_clean(body, form)
    careful = list(_parse_carefully(body, form))
    assert len(careful) == len(items)
    if quick is not None and all(isinstance(each, PostedDetection) for each in careful):
        assert quick == careful
    elif quick is not None:  # only integers that 64 bits cannot hold are left for the checks that come after
        assert {each.refused.reason.value for each in careful if isinstance(each, Item)} == {"out_of_range"}


@given(st.binary(max_size=60))
def test_no_bytes_make_more_than_a_refusal(body: bytes) -> None:
    for form in Form:
        try:
            list(parse(body, form))
        except Refused as refused:
            assert refused.reason == "malformed_json"  # noqa: PT017 - or no exception at all


def test_the_quick_reader_sees_a_key_given_twice_behind_white_space_and_colons() -> None:
    body = b'[{"sensor" :"a","detected_at":1,"id":"x::","id" : "y"}]'
    assert _parse_clean(body, Form.JSON) is None


def test_plain_bodies_are_read_quickly() -> None:
    body = json.dumps([{"sensor": "geo", "detected_at": 5, "attributes": {"a": [1, {"b": None}], "ö": "ü"}}] * 3)
    assert _parse_clean(body.encode(), Form.JSON) is None  # \u00f6: a backslash is read with care
    plain = json.dumps(json.loads(body), ensure_ascii=False).encode()
    assert _parse_clean(plain, Form.JSON) == list(_parse_carefully(plain, Form.JSON))
