"""Queries as the papers write them in SQL, both ways.

`query_from_sql` reads a text and `sql_of` writes one. Each kind takes what a statement says to its JSON and back:
`joins.join_sql` and `readings.readings_sql`. A new field needs a clause in `language`, and a line in each direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coincide.errors import QueryError, QueryTextError
from coincide.queries import AnyQuery, Kind, query_from_json
from coincide.queries.joins.join_sql import join_document, join_text
from coincide.queries.language.grammar import LONGEST_TEXT
from coincide.queries.language.spelling import At
from coincide.queries.language.statement import Statement, refusal, statement_in
from coincide.queries.readings.readings_sql import readings_document, readings_text

__all__ = ["LONGEST_TEXT", "query_from_sql", "sql_of"]

TEXTS: Mapping[Kind, Callable[[Any], str]] = {
    "join": join_text,
    "windows": readings_text,
    "spells": readings_text,
}
_START: At = (1, 1)


def query_from_sql(text: str, id: str) -> AnyQuery:  # noqa: A002 - what queries call it
    """Read a query as the papers write it.

    Keywords are case-insensitive, names are not. A number without a unit of time counts milliseconds, as in PTJoin.

    Parameters
    ----------
    text : str
        At most `LONGEST_TEXT` characters.
    id : str
        What the query is called, which SQL does not say.

    Raises
    ------
    QueryTextError
        A QueryError with the line and the column of what cannot be used: what it is, and what is expected. Of an `id`
        that is none it is a QueryError without them.
    ImportError
        lark is not installed.

    Examples
    --------
    The query of PTJoin's paper:

    >>> query = query_from_sql("SELECT * FROM SEISMIC A, ACOUSTIC B "
    ...     "WHERE WINDOW(A, B) = 2000 WITH THRESHOLD 0.6", "intruder")
    >>> query.roles, query.window, query.within[0].threshold
    ((('A', 'SEISMIC'), ('B', 'ACOUSTIC')), Window(lo_s=-2.0, hi_s=2.0), 0.6)

    The longest time above 100 degrees:

    >>> hot = query_from_sql("SELECT s.region, MAX(CAST(VALID(s.celsius) AS INTERVAL HOUR)) "
    ...     "FROM temperature AS s RANGE 24 HOUR SLIDES 1 HOUR WHERE s.celsius > 100", "hot")
    >>> hot.by, hot.question
    (('attributes.region',), Longest())
    """
    statement = statement_in(text)
    places: dict[str, At] = {}
    has_window = any(condition.kind == "window" for condition in statement.conditions)
    has_range = any(source.window for source in statement.sources)
    is_join = has_window or (statement.selected.is_everything and not has_range)
    document = (join_document if is_join else readings_document)(statement, places)
    _add_clauses(document, statement, places)
    try:
        return query_from_json({"id": id, **document})
    except QueryError as error:
        if error.field == "id":  # no SQL says it
            raise
        at = _place(error.field, places)
        raise QueryTextError(at, error.field, f"{error.message}, at line {at[0]}, column {at[1]}") from None


def _add_clauses(document: dict[str, object], statement: Statement, places: dict[str, At]) -> None:
    for clause in statement.clauses:
        field, value = clause.field, clause.value
        if field == "coalesce" and "coalesce" in document:
            known = document["coalesce"]
            assert isinstance(known, dict)  # noqa: S101 - readings_document makes it
            if twice := [name for name in value if name in known]:
                raise refusal(clause.at, f"sets {twice[0]}, which is set already")
            places |= {f"coalesce.{name}": clause.at for name in value}
            document["coalesce"] = {**known, **value}
        elif field in places:
            raise refusal(clause.at, f"sets {field} a second time: once is enough")
        else:
            document[field] = value
            places[field] = clause.at


def _place(field: str, places: dict[str, At]) -> At:
    """Return where the field stands, or that which has it."""
    for end in range(len(field), 0, -1):
        if field[:end] in places and (end == len(field) or field[end] in ".["):
            return places[field[:end]]
    return _START


def sql_of(query: AnyQuery) -> str:
    """Return the SQL of a query, without its id: `query_from_sql` reads the same query from it.

    Raises
    ------
    QueryError
        The text would be longer than `LONGEST_TEXT`, which only lists of many values are.

    Examples
    --------
    >>> written = "select * from seismic s, acoustic a where window(s, a) = 2000 with threshold .6"
    >>> print(sql_of(query_from_sql(written, "intruder")))
    SELECT * FROM seismic s, acoustic a
    WHERE WINDOW(s, a) = 2 s WITH THRESHOLD 0.6
    """
    written = TEXTS[query.kind](query)
    if len(written) > LONGEST_TEXT:
        raise QueryError("query", f"has {len(written)} characters as SQL: at most {LONGEST_TEXT}; write it as JSON")
    return written
