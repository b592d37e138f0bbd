"""Every query has an SQL text that says the very same query; no text whatever breaks anything or takes long."""

import json
import pickle
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide.errors import QueryError, QueryTextError
from coincide.queries import AnyQuery, query_from_json
from coincide.queries.language.grammar import KEYWORDS, tree_of
from coincide.queries.sql import LONGEST_TEXT, query_from_sql, sql_of
from tests.examples import examples
from tests.reference.query_documents import queries

PAPERS = "SELECT * FROM SEISMIC A, ACOUSTIC B WHERE WINDOW(A, B) = 2000 WITH THRESHOLD 0.6"
AT_ONCE_S = 1.0  # of a processor; it takes a tenth of that
MOST_CALLS = 100 * LONGEST_TEXT  # the worst takes 55 a character


@settings(max_examples=examples(), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(queries())
def test_the_text_of_a_query_says_that_query(query: AnyQuery) -> None:
    text = sql_of(query)
    again = query_from_sql(text, query.id)
    assert again == query
    assert json.dumps(again.to_json()) == json.dumps(query.to_json())  # 1 and true are equal, but not the same
    assert sql_of(again) == text


words = st.sampled_from(
    [*sorted(KEYWORDS), *"*(),.;={}[]:", "!=", "~=", ">=", "a", "s", "'x'", '"y"', "1", "-2.5", "ms"]
)


@given(st.one_of(st.text(max_size=200), st.lists(words, max_size=60).map(" ".join)))
def test_what_is_no_query_is_refused_with_its_place_and_nothing_else_happens(text: str) -> None:
    fault = fault_of(text)
    if fault is None:
        assert query_from_sql(sql_of(query_from_sql(text, "q")), "q") == query_from_sql(text, "q")
        return
    assert 1 <= fault.line <= text.count("\n") + 1
    assert 1 <= fault.column <= len(text) + 1
    assert "\n" not in str(fault)


def fault_of(text: str) -> QueryTextError | None:
    try:
        query_from_sql(text, "q")
    except QueryTextError as fault:
        return fault
    return None


@settings(max_examples=examples())
@given(queries(), st.data())
def test_a_query_with_a_word_too_many_or_too_few_is_refused_or_is_another(query: AnyQuery, data: st.DataObject) -> None:
    tokens = sql_of(query).split()
    place = data.draw(st.integers(0, len(tokens) - 1))
    word = data.draw(st.lists(words, max_size=1))
    changed = " ".join([*tokens[:place], *word, *tokens[place + 1 :]])
    if fault_of(changed) is None:
        other = query_from_sql(changed, query.id)
        assert query_from_sql(sql_of(other), query.id) == other


def hostile() -> Iterator[str]:
    """Texts that are as long as may be, of the same thing again and again."""
    pieces = ["(", "[", "{", '{"a": [', "WINDOW(", "VALID(", "A.x = A.x AND ", "1,", "'", "''", '"', "\\", "--\n", " "]
    for start in (
        "",
        "SELECT ",
        f"{PAPERS} AND A.x IN (",
        f"{PAPERS} ALERT ",
        f"{PAPERS} AND ",
        "SELECT * FROM a WHERE ",
    ):
        for piece in pieces:
            yield start + piece * ((LONGEST_TEXT - len(start)) // len(piece))
    yield f"{PAPERS} AND A.x IN (" + "1," * 9_900 + "1)"
    yield "SELECT * FROM " + ", ".join(f"a r{n}" for n in range(2_000))
    yield PAPERS + " FORM PATH" * 1_900
    yield PAPERS.replace("2000", "9" * 19_000)
    yield PAPERS.replace("2000", "1e" + "9" * 19_000)


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions are called while it works."""
    count = 0

    def look(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    tree_of(PAPERS)  # the parser is made once
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", [pytest.param(text, id=str(number)) for number, text in enumerate(hostile())])
def test_hostile_texts_end_after_a_bounded_number_of_steps(text: str) -> None:
    assert len(text) <= LONGEST_TEXT
    assert fault_of(text) is not None
    assert calls_of(lambda: fault_of(text)) < MOST_CALLS


@pytest.mark.night
def test_hostile_texts_end_at_once() -> None:
    tree_of(PAPERS)
    for text in hostile():
        began_s = time.process_time()
        assert fault_of(text) is not None
        assert time.process_time() - began_s < AT_ONCE_S


def test_long_texts_that_are_good_are_read_after_a_bounded_number_of_steps() -> None:
    number, tests = PAPERS.replace("2000", "0." + "3" * 19_000), PAPERS + " AND A.x = B.x" * 1_300
    assert query_from_sql(number, "q").to_json()["within"][0]["window_s"] == 1 / 3000  # type: ignore[index]
    assert query_from_sql(tests, "q").to_json()["equal"] == "attributes.x"
    assert calls_of(lambda: (query_from_sql(number, "q"), query_from_sql(tests, "q"))) < MOST_CALLS


def test_a_text_that_is_too_long_is_not_even_looked_at() -> None:
    with pytest.raises(QueryTextError, match=f"has {LONGEST_TEXT + 1} characters: at most {LONGEST_TEXT}"):
        query_from_sql(PAPERS.ljust(LONGEST_TEXT + 1), "q")
    assert query_from_sql(PAPERS.ljust(LONGEST_TEXT), "q").id == "q"


def test_a_query_that_is_too_long_as_a_text_says_so() -> None:
    document = query_from_sql(PAPERS, "q").to_json()
    values = [f"value {number} " + "x" * 200 for number in range(100)]
    where = {"attributes.x": {"in": values}, "attributes.y": {"in": values}}
    query = query_from_json({**document, "from": {"A": {"stream": "s", "where": where}, "B": "t"}})
    with pytest.raises(QueryError, match="write it as JSON"):
        sql_of(query)


def test_the_error_of_a_text_survives_pickling() -> None:
    with pytest.raises(QueryTextError) as told:
        query_from_sql("SELECT", "q")
    copy = pickle.loads(pickle.dumps(told.value))
    assert (str(copy), copy.line, copy.column) == (str(told.value), 1, 7)
