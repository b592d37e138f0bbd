"""Joins as SQL, both ways: ``SELECT * FROM stream role, ... WHERE WINDOW(role, role) = ... WITH THRESHOLD ...``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from coincide.errors import QueryError
from coincide.queries.joins.edges import edges_of
from coincide.queries.joins.episode_rule import LABEL
from coincide.queries.joins.join_query import Query
from coincide.queries.language.spelling import At, attribute, duration, limits_text, name, number, text
from coincide.queries.language.statement import FromItem, SqlColumn, SqlCondition, Statement, refusal


def join_document(statement: Statement, places: dict[str, At]) -> dict[str, Any]:
    """Return the fields that FROM and WHERE of a join set; `places` takes where they stand."""
    _refuse_columns(statement)
    document: dict[str, Any] = {"from": _roles(statement.sources, places)}
    equal: list[SqlCondition] = []
    for condition in statement.conditions:
        if condition.kind == "window":
            _refuse_unless_threshold(condition, statement)
            _add_edge(document, condition, places)
        elif condition.kind == "tested":
            _add_test(document["from"], condition, places)
        elif condition.kind == "named":
            _add_names(document["from"], condition, places)
        elif condition.kind == "placed":
            _set(document, "areas", condition.said, places, condition.at)
        elif condition.kind == "equal":
            equal.append(condition)
        else:
            raise refusal(condition.at, f"{_of_readings(condition)} belongs to a query over readings, not to a join")
    roles = list(document["from"])
    if "within" not in document and len(roles) > 1:
        needed = f"WHERE WINDOW({name(roles[0])}, {name(roles[1])}) = 2 s WITH THRESHOLD 0.6, or the like"
        raise refusal(statement.sources[-1].at, f"is joined without a window: write {needed}")
    if equal:
        document["equal"] = _equal(equal, roles)
        places["equal"] = equal[0].at
    return document


def _refuse_columns(statement: Statement) -> None:
    """Refuse what a join cannot select; a query over readings can."""
    selected = statement.selected
    if not selected.is_everything:
        longest = () if selected.longest is None else (selected.longest.at,)
        parts = [each.at for each in selected.columns] + [each.at for each in selected.periods]
        places = (*parts, *longest)
        raise refusal(places[0], "is selected, but a join tells whole matches: write SELECT *")


def _refuse_unless_threshold(condition: SqlCondition, statement: Statement) -> None:
    """Refuse a window that nobody says a probability for."""
    if condition.threshold is None and not any(clause.field == "joint_threshold" for clause in statement.clauses):
        exact = "where all times are exact, as in the window join's paper, it is 1"
        raise refusal(condition.at, f"has no threshold: write WITH THRESHOLD and a probability behind it; {exact}")


def _of_readings(condition: SqlCondition) -> str:
    said = {"overlapping": "OVERLAPS", "lasting": "CAST", "similar": "~=", "different": "!="}
    return said[condition.kind]


def _set(fields: dict[str, Any], field: str, value: object, places: dict[str, At], at: At, path: str = "") -> None:
    """Set a field, once."""
    if field in fields:
        raise refusal(at, f"sets {path or field} a second time: once is enough")
    fields[field] = value
    places[path or field] = at


def _roles(sources: Sequence[FromItem], places: dict[str, At]) -> dict[str, Any]:
    roles: dict[str, Any] = {}
    for source in sources:
        if source.schema is not None:
            raise refusal(source.at, f"lists attributes of {source.stream}: a query over readings may, a join may not")
        if source.window is not None:
            raise refusal(source.at, "has a RANGE: a query over readings may, a join may not")
        if source.role in roles:
            raise refusal(source.at, f"names the role {source.role} a second time: give each stream a role of its own")
        roles[source.role] = source.stream
        places[f"from.{source.role}"] = source.at
    return roles


def _add_edge(document: dict[str, Any], condition: SqlCondition, places: dict[str, At]) -> None:
    within = document.setdefault("within", [])
    places[f"within[{len(within)}]"] = condition.at
    between = {"between": list(condition.roles)} if condition.roles else {}
    threshold = {} if condition.threshold is None else {"threshold": condition.threshold}
    within.append({**between, **condition.said, **threshold})
    if not between:
        document["form"] = "clique"  # as the window join's paper has it: such a window is between every two streams


def _source_of(roles: dict[str, Any], column: SqlColumn) -> dict[str, Any]:
    """Return what "from" says of a column's role, as an object."""
    if column.role not in roles:
        raise refusal(column.at, f"names {column.role}, which is no role of FROM: {', '.join(roles)}")
    if isinstance(roles[column.role], str):
        roles[column.role] = {"stream": roles[column.role]}
    source: dict[str, Any] = roles[column.role]
    return source


def _add_test(roles: dict[str, Any], condition: SqlCondition, places: dict[str, At]) -> None:
    [column] = condition.columns
    if column.goes_by_names:
        raise refusal(
            condition.at, f"compares {column.role}.{column.name.upper()}: write GLOB and names, which may have *"
        )
    where = _source_of(roles, column).setdefault("where", {})
    path = f"from.{column.role}.where.{column.name}"
    for field, value in condition.said.items():
        _set(where.setdefault(column.name, {}), field, value, places, condition.at, f"{path}.{field}")
    places.setdefault(path, condition.at)


def _add_names(roles: dict[str, Any], condition: SqlCondition, places: dict[str, At]) -> None:
    [column] = condition.columns
    if not column.goes_by_names:
        raise refusal(condition.at, "has GLOB after an attribute: only SENSOR and AREA go by names with *")
    field = f"{column.name}s"
    source = _source_of(roles, column)
    _set(source, field, condition.said, places, condition.at, f"from.{column.role}.{field}")


def _equal(conditions: Sequence[SqlCondition], roles: Sequence[str]) -> str:
    """Return the attribute that all roles are compared by."""
    groups = {role: {role} for role in roles}
    first = conditions[0].columns[0]
    for condition in conditions:
        for column in (*condition.columns, *condition.others):
            if column.role not in groups:
                raise refusal(column.at, f"names {column.role}, which is no role of FROM: {', '.join(roles)}")
            if column.goes_by_names:
                raise refusal(
                    condition.at, "compares SENSOR or AREA: areas are always equal; for sensors, write SENSORS SAME"
                )
            if column.name != first.name:
                raise refusal(
                    column.at, f"compares another attribute than {attribute(first.name)}: one is equal in all roles"
                )
        joined = groups[condition.columns[0].role] | groups[condition.others[0].role]
        groups |= dict.fromkeys(joined, joined)
    left_out = [role for role in roles if role not in groups[first.role]]
    if left_out:
        raise refusal(
            conditions[0].at, f"leaves {', '.join(left_out)} out: the attribute is equal in all roles, or in none"
        )
    return first.name


def join_text(query: Query) -> str:
    """Return the SQL of a join."""
    document = query.to_json()
    conditions = [*_edges(query), *_equalities(query), *_filters(document["from"])]  # type: ignore[arg-type]
    if query.areas:
        conditions.append(f"AREA GLOB {_texts(query.areas)}")
    streams = [stream if role == stream else f"{stream} {role}" for role, stream in _named(query.roles)]
    lines = ["SELECT * FROM " + ", ".join(streams), "WHERE " + "\n  AND ".join(conditions), *_clauses(query)]  # noqa: S608 - no database reads it
    return "\n".join(lines)


def _named(roles: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name(role), name(stream)) for role, stream in roles]


def _edges(query: Query) -> list[str]:
    written = [edge.to_json() for edge in query.within]
    alone = {field: value for field, value in written[0].items() if field != "between"}
    if query.form in ("path", "clique") and _stands_for_all(alone, query):
        written = [alone]
    return [_edge(edge) for edge in written]


def _stands_for_all(edge: Mapping[str, object], query: Query) -> bool:
    try:
        return edges_of([edge], query.form, [role for role, _ in query.roles]) == query.within
    except QueryError:
        return False


def _edge(edge: Mapping[str, Any]) -> str:
    ends = f"({', '.join(map(name, edge['between']))})" if "between" in edge else ""
    if "slack_s" in edge:
        window = f"= {_by_distance(edge)}"
    elif "window_s" in edge:
        window = f"= {duration(edge['window_s'])}"
    else:
        window = f"BETWEEN {duration(edge['lo_s'])} AND {duration(edge['hi_s'])}"
    return f"WINDOW{ends} {window}" + (f" WITH THRESHOLD {number(edge['threshold'])}" if "threshold" in edge else "")


def _by_distance(edge: Mapping[str, Any]) -> str:
    if "speed_m_s" in edge:
        travel = f"DISTANCE / {number(edge['speed_m_s'])}"
    else:
        rows = (" ".join(map(number, row)) for row in edge["travel_times"])
        travel = f"TRAVEL ({', '.join(rows)})"
    slack = f" + {duration(edge['slack_s'])}" if edge["slack_s"] else ""
    return f"{travel}{slack} UP TO {number(edge['up_to_m'])}"


def _equalities(query: Query) -> list[str]:
    if query.equal is None:
        return []
    columns = [f"{name(role)}.{attribute(query.equal)}" for role, _ in query.roles]
    return [f"{one} = {other}" for one, other in pairwise(columns)]


def _filters(roles: Mapping[str, Any]) -> list[str]:
    written: list[str] = []
    for role, source in roles.items():
        if isinstance(source, str):
            continue
        for path, test in source.get("where", {}).items():
            written += limits_text(f"{name(role)}.{attribute(path)}", test)
        for field, keyword in (("sensors", "SENSOR"), ("areas", "AREA")):
            if field in source:
                written.append(f"{name(role)}.{keyword} GLOB {_texts(source[field])}")
    return written


def _texts(texts: Sequence[str]) -> str:
    written = ", ".join(map(text, texts))
    return written if len(texts) == 1 else f"({written})"


def _clauses(query: Query) -> list[str]:
    limits = query.limits.to_json()
    at_least = query.at_least
    of = "" if at_least is None or at_least.of is None else f" OF ({', '.join(map(name, at_least.of))})"
    given = {
        "FORM": query.form and query.form.upper(),
        "JOINT THRESHOLD": None if query.joint_threshold is None else number(query.joint_threshold),
        "AT LEAST": None if at_least is None else f"{number(at_least.count)}{of}",
        "SENSORS": None if query.sensors == "different" else query.sensors.upper(),
        "COALESCE": None if query.coalesce is None else _coalesce(query),
        "EVENT": None if query.event is None else json.dumps(query.event.to_json()),
        "SOURCE": None if query.one_source is None else json.dumps(query.one_source.to_json()),
        "LIMITS": ", ".join(f"{limit} = {most}" for limit, most in limits.items()) or None,
        "ALLOW": None if query.unreachable is None else "UNREACHABLE",
        "ALERT": None if query.alert is None else json.dumps(query.alert.to_json(), ensure_ascii=False),
    }
    return [f"{keyword} {said}" for keyword, said in given.items() if said is not None]


def _coalesce(query: Query) -> str:
    rule = query.coalesce
    assert rule is not None  # noqa: S101 - its caller looks
    by = f" BY {', '.join(_label(label, query.equal) for label in rule.by)}" if rule.by else ""
    return f"GAP {duration(rule.gap_s)}{by} INTERVAL {rule.interval.upper()}"


def _label(label: str, equal: str | None) -> str:
    parts = LABEL.fullmatch(label)
    if label == equal or parts is None:
        return attribute(label)
    named = "SENSOR" if parts["name"] is None else name(parts["name"])
    return f"{name(parts['role'])}.{named}"
