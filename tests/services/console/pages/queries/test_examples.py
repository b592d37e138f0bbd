"""The examples that a new query begins with: each is a query that fusion can run, in all three views."""

import pytest

from coincide.queries import query_from_json
from coincide.queries.sql import query_from_sql, sql_of
from services.console.pages.queries.examples import EXAMPLES, document_of
from services.console.pages.queries.known_names import KnownNames


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_a_query_of_the_stream_that_is_there(name: str) -> None:
    document = document_of(name, KnownNames(busiest_stream="noise"))
    query = query_from_json({**document, "id": "new"})
    assert query_from_sql(sql_of(query), "new") == query
    assert "a stream" not in str(query.to_json())
    assert document_of(name, KnownNames(busiest_stream="noise")) == document  # nobody's change is the next one's
    assert "noise" not in str(EXAMPLES[name].document)


def test_what_is_no_example_is_the_first_one() -> None:
    assert document_of("<b>", KnownNames()) == document_of("pair", KnownNames())
