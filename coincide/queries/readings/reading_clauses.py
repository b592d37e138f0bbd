"""Clauses that every query over readings has in SQL: the window, the groups, limits of the value, and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coincide.queries.language.spelling import At, attribute, duration, in_units, name
from coincide.queries.language.statement import FromItem, SqlCondition, refusal
from coincide.queries.readings.reading_fields import SENSOR


def coalesce_of(source: FromItem, by: Sequence[str], value: str) -> dict[str, Any]:
    """Return the fields of `coalesce` that SELECT and FROM set."""
    window = {} if source.window is None else {"window": source.window}
    return {"from": source.stream, "by": list(by), "value": value, **window}


def ask(document: dict[str, Any], question: dict[str, Any], condition: SqlCondition, places: dict[str, At]) -> None:
    """Add the question that a CAST asks, with its threshold."""
    asked = {**question, **({} if condition.threshold is None else {"threshold": condition.threshold})}
    for field in asked:
        if field in document:
            raise refusal(condition.at, f"sets {field} a second time: once is enough")
        places[field] = condition.at
    document |= asked


def add_limits(coalesce: dict[str, Any], condition: SqlCondition, value: str, places: dict[str, At]) -> None:
    """Add a limit of the value to `where`."""
    [column] = condition.columns
    if column.name != value:
        limited = f"{column.role}.{attribute(column.name)}"
        raise refusal(condition.at, f"limits {limited}: only {attribute(value)} may have limits")
    where = coalesce.setdefault("where", {})
    places.setdefault("where", condition.at)
    for limit, said in condition.said.items():
        if limit in where:
            raise refusal(condition.at, f"sets {limit} a second time: once is enough")
        where[limit] = said
        places[f"where.{limit}"] = condition.at


def columns_text(by: Sequence[str], role: str) -> list[str]:
    """Return what makes a group, as columns of a role."""
    return [f"{role}.{'SENSOR' if each == SENSOR else attribute(each)}" for each in by]


def lasting_text(period: str, seconds: float) -> str:
    """Return the condition that a period lasts so long."""
    count, unit = in_units(seconds)
    return f"CAST({period} AS INTERVAL {unit}) >= {count}"


def source_text(coalesce: Mapping[str, Any], role: str) -> str:
    """Return the stream of a role, with the window that slides over it."""
    window = coalesce.get("window")
    stream = f"{name(coalesce['from'])} AS {role}"
    if window is None:
        return stream
    time, slide = (duration(window[each], in_words=True) for each in ("time_s", "slide_s"))
    return f"{stream} RANGE {time} SLIDES {slide}"
