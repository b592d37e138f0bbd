"""Conditions that filters of several tables share; what is None asks for all."""

from typing import Any

from sqlalchemy import Column, Select


def where_equal(statement: Select[Any], *wanted: tuple[Column[Any], object]) -> Select[Any]:
    """Restrict `statement` to rows whose columns have the wanted values."""
    return statement.where(*(column == value for column, value in wanted if value is not None))


def where_overlaps(
    statement: Select[Any], span_us: tuple[Column[Any], Column[Any]], from_us: int | None, to_us: int | None
) -> Select[Any]:
    """Restrict `statement` to rows whose span, both ends closed, overlaps [from_us, to_us]."""
    first, last = span_us
    if from_us is not None:
        statement = statement.where(last >= from_us)
    return statement if to_us is None else statement.where(first <= to_us)
