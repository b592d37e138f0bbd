"""Joins of two groups of readings as SQL, both ways: VALID INTERSECT of two roles with similar values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coincide.queries.language.spelling import At, attribute, limits_text, name, number
from coincide.queries.language.statement import FromItem, SqlColumn, SqlCondition, Statement, Valid, refusal
from coincide.queries.readings.reading_clauses import (
    add_limits,
    ask,
    coalesce_of,
    columns_text,
    lasting_text,
    source_text,
)


@dataclass(frozen=True)
class Couple:
    """The two roles whose readings are joined: one stream, and one window."""

    one: FromItem
    other: FromItem

    @classmethod
    def of(cls, sources: Sequence[FromItem]) -> Couple:
        """Return the two roles of FROM."""
        if len(sources) != 2:
            raise refusal(sources[-1].at, f"is one of {len(sources)} roles: readings have one, or two of one stream")
        one, other = sources
        if (one.stream, one.window) != (other.stream, other.window):
            raise refusal(other.at, "has another stream, RANGE or SLIDES than the role before it: both have the same")
        return cls(one, other)

    @property
    def at(self) -> At:
        """Where they stand."""
        return self.one.at

    @property
    def roles(self) -> tuple[str, str]:
        """Their names, as SQL has them."""
        return name(self.one.role), name(self.other.role)

    def refuse_unless_of_both(self, roles: Sequence[str], at: At) -> None:
        """Refuse a condition that is not of both roles."""
        if set(roles) != {self.one.role, self.other.role}:
            raise refusal(at, f"is of {' and '.join(roles)}: it must be of {' and '.join(self.roles)}")

    def refuse_unless_shared(self, periods: Sequence[Valid], at: At) -> None:
        """Refuse a period that is not what the two share."""
        if {period.role for period in periods} != {self.one.role, self.other.role}:
            raise refusal(periods[0].at if periods else at, f"is not what both share: write {_shared(*self.roles)}")


def couple_document(statement: Statement, places: dict[str, At]) -> dict[str, Any]:
    """Return the fields of a query that joins two groups; `places` takes where they stand."""
    couple = Couple.of(statement.sources)
    comparison = _comparison(statement, couple)
    value, by = _value(comparison, couple), _groups(statement.selected.columns, couple)
    couple.refuse_unless_shared(statement.selected.periods, couple.at)
    document: dict[str, Any] = {"coalesce": coalesce_of(couple.one, by, value)}
    document["coalesce"] |= _limits(statement, couple, value, places)
    within = {} if comparison.said is None else {"within": comparison.said}
    for condition in statement.conditions:
        if condition.kind == "lasting" and condition.length is not None:
            couple.refuse_unless_shared(condition.length.periods, condition.at)
            ask(document, {"join": {**within, "lasting_s": condition.said}}, condition, places)
        elif condition.kind == "overlapping":
            couple.refuse_unless_of_both(condition.roles, condition.at)
        elif condition.kind not in ("tested", "different") and condition is not comparison:
            raise refusal(condition.at, "is no condition for two groups of readings")
    _refuse_unless_different(statement, by, couple)
    if "join" not in document:
        wanted = f"CAST({_shared(*couple.roles)} AS INTERVAL MINUTE) >= ..."
        raise refusal(couple.at, f"and the role after it share some time: write for how long, {wanted}")
    return document


def _comparison(statement: Statement, couple: Couple) -> SqlCondition:
    similar = [each for each in statement.conditions if each.kind in ("similar", "equal")]
    if len(similar) != 1:
        one, other = couple.roles
        raise refusal(couple.at, f"and {other} are joined by one value: write {one}.value ~= {other}.value once")
    return similar[0]


def _value(comparison: SqlCondition, couple: Couple) -> str:
    [one], [other] = comparison.columns, comparison.others
    couple.refuse_unless_of_both([one.role, other.role], comparison.at)
    if one.name != other.name:
        raise refusal(comparison.at, "compares two attributes: values of one are compared")
    return one.name


def _groups(columns: Sequence[SqlColumn], couple: Couple) -> list[str]:
    of_one, of_other = ([each.name for each in columns if each.role == of.role] for of in (couple.one, couple.other))
    if of_one != of_other:
        raise refusal(columns[0].at, f"is not selected of both: SELECT the same of {' and '.join(couple.roles)}")
    return of_one


def _limits(statement: Statement, couple: Couple, value: str, places: dict[str, At]) -> dict[str, Any]:
    """Return the field `where`, if any: what limits both roles."""
    limits: dict[str, dict[str, Any]] = {couple.one.role: {}, couple.other.role: {}}
    for condition in statement.conditions:
        if condition.kind == "tested":
            add_limits(limits[condition.columns[0].role], condition, value, places)
    one, other = limits.values()
    if one != other:
        raise refusal(couple.at, f"and {couple.roles[1]} have different limits: give both the same")
    return one


def _refuse_unless_different(statement: Statement, by: Sequence[str], couple: Couple) -> None:
    """Refuse a query that does not say once that the groups differ, if there are any."""
    wanted = [difference for difference in statement.conditions if difference.kind == "different"]
    is_said = len(wanted) == 1 and all(
        [column.name for column in columns] == list(by) and len({column.role for column in columns}) == 1
        for columns in (wanted[0].columns, wanted[0].others)
    )
    if bool(wanted) != bool(by) or (by and not is_said):
        at = wanted[0].at if wanted else couple.at
        needed = f"write {_difference(by, *couple.roles)}" if by else "SELECT what tells them apart"
        raise refusal(at, f"does not tell once that the groups differ: {needed}")
    if wanted:
        roles = [wanted[0].columns[0].role, wanted[0].others[0].role]
        couple.refuse_unless_of_both(roles, wanted[0].at)


def couple_text(document: Mapping[str, Any], coalesce: Mapping[str, Any]) -> list[str]:
    """Return SELECT, FROM and WHERE of a query that joins two groups."""
    one, other = "r1", "r2"
    by, value, join = coalesce["by"], attribute(coalesce["value"]), document["join"]
    selected = [*columns_text(by, one), *columns_text(by, other), _shared(one, other)]
    within = f"~= {other}.{value} WITHIN {number(join['within'])}" if join["within"] else f"= {other}.{value}"
    limits = coalesce.get("where", {})
    conditions = [
        *([_difference(by, one, other)] if by else []),
        f"{one}.{value} {within}",
        *limits_text(f"{one}.{value}", limits),
        *limits_text(f"{other}.{value}", limits),
        f"VALID({one}) OVERLAPS VALID({other})",
        lasting_text(_shared(one, other), join["lasting_s"]),
    ]
    sources = ",\n     ".join(source_text(coalesce, role) for role in (one, other))
    return [f"SELECT {', '.join(selected)}", f"FROM {sources}", "WHERE " + "\n  AND ".join(conditions)]


def _shared(one: str, other: str) -> str:
    return f"VALID INTERSECT(VALID({one}), VALID({other}))"


def _difference(by: Sequence[str], one: str, other: str) -> str:
    sides = [columns_text(by, role) for role in (one, other)]
    return " != ".join(side[0] if len(side) == 1 else f"({', '.join(side)})" for side in sides)
