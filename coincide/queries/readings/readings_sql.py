"""Queries over readings as SQL, both ways, in the words of the paper on temporal coalescing: VALID, RANGE, SLIDES."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from coincide.queries.language.spelling import At, attribute, duration, limits_text, name, number
from coincide.queries.language.statement import FromItem, Statement, Valid, refusal
from coincide.queries.readings.reading_clauses import (
    add_limits,
    ask,
    coalesce_of,
    columns_text,
    lasting_text,
    source_text,
)
from coincide.queries.readings.readings_join_sql import couple_document, couple_text
from coincide.queries.readings.readings_query import ReadingsQuery
from coincide.queries.readings.spell_query import USUAL_THRESHOLD, SpellQuery

ROLE = "r"


def readings_document(statement: Statement, places: dict[str, At]) -> dict[str, Any]:
    """Return the fields that SELECT, FROM and WHERE of a query over readings set; `places` takes where they stand."""
    first = statement.sources[0]
    if statement.selected.is_everything:
        allowed = "SELECT groups, and VALID(role.value), MAX(CAST(VALID(role.value) ...)) or VALID INTERSECT(...)"
        raise refusal(first.at, f"has a RANGE, so the query is over readings: {allowed}, not *")
    _refuse_other_columns(statement)
    places["coalesce"] = places["coalesce.from"] = places["coalesce.window"] = first.at
    return couple_document(statement, places) if len(statement.sources) > 1 else _document(statement, places)


def _refuse_other_columns(statement: Statement) -> None:
    """Refuse a column of a role that there is not, or that is not among those that FROM lists."""
    sources = {source.role: source for source in statement.sources}
    if len(sources) < len(statement.sources):
        raise refusal(statement.sources[-1].at, "names a role a second time: give each its own")
    of_conditions = ((*each.columns, *each.others) for each in statement.conditions)
    for column in chain(statement.selected.columns, *of_conditions):
        source = sources.get(column.role)
        if source is None:
            raise refusal(column.at, f"names {column.role}, which is no role of FROM: {', '.join(sources)}")
        if source.schema is not None and column.name not in source.schema:
            raise refusal(column.at, f"is not among the attributes that FROM lists of {source.stream}")


def _document(statement: Statement, places: dict[str, At]) -> dict[str, Any]:
    """Return the fields of a query that looks at each group by itself."""
    [source], selected = statement.sources, statement.selected
    period = _period(selected.longest.periods if selected.longest else selected.periods, source)
    if period.name is None:
        raise refusal(period.at, f"names no value: write VALID({name(period.role)}.value)")
    by = [column.name for column in selected.columns]
    document: dict[str, Any] = {"coalesce": coalesce_of(source, by, period.name)}
    if selected.longest is not None:
        document["longest"] = True
        places["longest"] = selected.longest.at
    for condition in statement.conditions:
        if condition.kind == "lasting" and condition.length is not None:
            _refuse_other_value(_period(condition.length.periods, source), period.name)
            ask(document, {"lasting_s": condition.said}, condition, places)
        elif condition.kind == "tested":
            add_limits(document["coalesce"], condition, period.name, places)
        else:
            raise refusal(condition.at, "is no condition of one group: limit the value, or say how long a CAST lasts")
    if "longest" not in document and "lasting_s" not in document:
        value = f"VALID({name(source.role)}.{attribute(period.name)})"
        raise refusal(period.at, f"asks nothing: SELECT MAX(CAST({value} AS INTERVAL HOUR)), or WHERE CAST(...) >= 2")
    return document


def _period(periods: Sequence[Valid], source: FromItem) -> Valid:
    if len(periods) != 1 or periods[0].role != source.role:
        at = periods[0].at if periods else source.at
        raise refusal(at, f"needs one period of {source.role}: write VALID({name(source.role)}.value)")
    return periods[0]


def _refuse_other_value(period: Valid, value: str) -> None:
    if period.name not in (None, value):
        raise refusal(period.at, f"is of another value than {attribute(value)}: a query is about one")


def readings_text(query: ReadingsQuery | SpellQuery) -> str:
    """Return the SQL of a query over readings."""
    document: dict[str, Any] = query.to_json()
    coalesce, written = document["coalesce"], couple_text if "join" in document else _text
    lines = written(document, coalesce)
    options = _options(coalesce)
    if options:
        lines.append(f"COALESCE {' '.join(options)}")
    if query.alert is not None:
        lines.append(f"ALERT {json.dumps(query.alert.to_json(), ensure_ascii=False)}")
    return "\n".join(lines)


def _text(document: Mapping[str, Any], coalesce: Mapping[str, Any]) -> list[str]:
    value = f"{ROLE}.{attribute(coalesce['value'])}"
    period, conditions = f"VALID({value})", limits_text(value, coalesce.get("where", {}))
    answer = period
    if "longest" in document:
        answer = f"MAX(CAST({period} AS INTERVAL SECOND))"
    else:
        threshold = document.get("threshold", USUAL_THRESHOLD)
        sure = "" if threshold == USUAL_THRESHOLD else f" WITH THRESHOLD {number(threshold)}"
        conditions.append(lasting_text(period, document["lasting_s"]) + sure)
    where = ["WHERE " + "\n  AND ".join(conditions)] if conditions else []
    selected = ", ".join([*columns_text(coalesce["by"], ROLE), answer])
    return [f"SELECT {selected}", f"FROM {source_text(coalesce, ROLE)}", *where]


def _options(coalesce: Mapping[str, Any]) -> list[str]:
    """Return the options of COALESCE."""
    equivalence = coalesce.get("equivalence")
    options = [f"HOLD {duration(coalesce['hold_s'], in_words=True)}"] if "hold_s" in coalesce else []
    if isinstance(equivalence, Mapping):
        [(word, given)] = equivalence.items()
        return [f"{word.upper()} {number(given)}", *options]
    return options if equivalence is None else [equivalence.upper(), *options]
