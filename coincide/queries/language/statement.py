"""Statement: what a query's SQL says, clause by clause, and where each part of it stands in the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coincide.errors import QueryTextError
from coincide.queries.fields.checks import attribute_path
from coincide.queries.language.grammar import tree_of
from coincide.queries.language.spelling import COMPARISONS, At, name_in, number_in, seconds_in, text_in


def refusal(at: At, message: str) -> QueryTextError:
    """Return the error that names a place of the text."""
    return QueryTextError(at, f"line {at[0]}, column {at[1]}", message)


@dataclass(frozen=True)
class SqlColumn:
    """What a role's detections say: "sensor", "area", or "attributes." and a name."""

    role: str
    name: str
    at: At

    @property
    def goes_by_names(self) -> bool:
        """Whether names with * are asked for, and no values."""
        return self.name in ("sensor", "area")


@dataclass(frozen=True)
class Valid:
    """How long a value of a role was true; without a name of the value that the query is about."""

    role: str
    name: str | None
    at: At


@dataclass(frozen=True)
class Length:
    """The length in some unit of one period, or of what two of them share."""

    periods: tuple[Valid, ...]
    unit: str
    at: At


@dataclass(frozen=True)
class Selected:
    """What SELECT lists: columns, periods, and the longest period; nothing at all for ``*``."""

    columns: tuple[SqlColumn, ...] = ()
    periods: tuple[Valid, ...] = ()
    longest: Length | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it is ``*``."""
        return not self.columns and not self.periods and self.longest is None


@dataclass(frozen=True)
class FromItem:
    """A stream, the role it plays, the attributes it is said to have, and the window that slides over it."""

    stream: str
    role: str
    schema: tuple[str, ...] | None
    window: dict[str, float] | None
    at: At


@dataclass(frozen=True)
class SqlCondition:
    """One condition of WHERE by the name of its rule, with its columns or periods, and what else it says."""

    kind: str
    at: At
    columns: tuple[SqlColumn, ...] = ()
    others: tuple[SqlColumn, ...] = ()
    roles: tuple[str, ...] = ()
    length: Length | None = None
    said: Any = None
    threshold: float | None = None


@dataclass(frozen=True)
class Clause:
    """What a clause, or an option of COALESCE, sets: a field of the query's JSON and its value."""

    field: str
    value: Any
    at: At


@dataclass(frozen=True)
class Statement:
    """A query's SQL."""

    selected: Selected
    sources: tuple[FromItem, ...]
    conditions: tuple[SqlCondition, ...]
    clauses: tuple[Clause, ...]


def statement_in(text: str) -> Statement:
    """Return what the text says; a QueryTextError says what is wrong with it, and where."""
    selected, *parts = tree_of(text).children
    where = [condition for part in parts if part.data == "where" for condition in part.children]
    return Statement(
        _selected(selected),
        tuple(_source(part) for part in parts if part.data == "source"),
        tuple(_condition(each) for each in where),
        tuple(_clause(part) for part in parts if part.data not in ("source", "where")),
    )


def _at(tree: Any) -> At:
    return (tree.line, tree.column) if hasattr(tree, "line") else (tree.meta.line, tree.meta.column)


def _name(tree: Any) -> str:
    """Return the name, or the text of a keyword that stands for one."""
    return name_in(str(tree.children[0]))


def _column(tree: Any) -> SqlColumn:
    role, column = tree.children
    is_keyword = not hasattr(column, "children")
    return SqlColumn(_name(role), str(column).lower() if is_keyword else attribute_path(_name(column)), _at(tree))


def _valid(tree: Any) -> Valid:
    role, named = tree.children
    return Valid(_name(role), None if named is None else attribute_path(_name(named)), _at(tree))


def _periods(tree: Any) -> tuple[Valid, ...]:
    """Return the period of a VALID, or the two of an INTERSECT."""
    return (_valid(tree),) if tree.data == "valid" else tuple(map(_valid, tree.children))


def _length(tree: Any) -> Length:
    periods, unit = tree.children
    return Length(_periods(periods), str(unit), _at(tree))


def _selected(tree: Any) -> Selected:
    if tree.data == "everything":
        return Selected()
    items = list(tree.children)
    longest = [_length(each.children[0]) for each in items if each.data == "longest"]
    periods = [_periods(each) for each in items if each.data in ("valid", "intersection")]
    if len(longest) + len(periods) > 1:
        raise refusal(_at(items[-1]), "is a second period: SELECT one VALID(...), or MAX of one")
    return Selected(
        tuple(_column(each) for each in items if each.data == "column"),
        periods[0] if periods else (),
        longest[0] if longest else None,
    )


def _source(tree: Any) -> FromItem:
    stream, schema, *rest = tree.children
    *alias, extent = rest
    window = None
    if extent is not None:
        time_s, slide_s = map(_duration, extent.children)
        window = {"time_s": time_s, "slide_s": slide_s}
    named = [_name(each) for each in alias if each is not None]
    attributes = None if schema is None else tuple(_schema_names(schema))
    return FromItem(_name(stream), named[0] if named else _name(stream), attributes, window, _at(tree))


def _schema_names(tree: Any) -> Iterable[str]:
    for each in tree.children:
        yield attribute_path(_name(each)) if hasattr(each, "children") else str(each).lower()


def _duration(tree: Any) -> float:
    number, unit = tree.children
    return seconds_in(str(number), None if unit is None else str(unit), _at(number))


def _number(token: Any) -> int | float:
    return number_in(str(token), _at(token))


def _scalar(tree: Any) -> Any:
    [token] = tree.children
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if token.type == "NUMBER":
        return _number(token)
    return name_in(str(token)) if token.type == "QUOTED" else text_in(str(token))


def _condition(tree: Any) -> SqlCondition:
    at, parts = _at(tree), list(tree.children)
    if tree.data in ("around", "between"):
        return _window(tree.data, at, parts)
    if tree.data in ("at_speed", "travelling"):
        return _window_by_distance(tree.data, at, parts)
    if tree.data == "lasting":
        length, _, least, threshold = parts
        return SqlCondition(
            "lasting", at, length=_length(length), said=_lasting_s(length, least), threshold=_threshold(threshold)
        )
    if tree.data == "overlapping":
        return SqlCondition("overlapping", at, roles=tuple(_valid(each).role for each in parts))
    return _of_columns(tree.data, at, parts)


def _window(kind: str, at: At, parts: list[Any]) -> SqlCondition:
    ends, *bounds, threshold = parts
    names = ("window_s",) if kind == "around" else ("lo_s", "hi_s")
    window = dict(zip(names, map(_duration, bounds), strict=True))
    roles = () if ends is None else tuple(map(_name, ends.children))
    return SqlCondition("window", at, roles=roles, said=window, threshold=_threshold(threshold))


def _window_by_distance(kind: str, at: At, parts: list[Any]) -> SqlCondition:
    ends, *travel, slack, up_to, threshold = parts
    if kind == "at_speed":
        said: dict[str, Any] = {"speed_m_s": _number(travel[0])}
    else:
        said = {"travel_times": [[*map(_number, row.children)] for row in travel]}
    said |= {} if slack is None else {"slack_s": _slack_s(slack.children[0])}
    said |= {} if up_to is None else {"up_to_m": _number(up_to.children[0])}
    roles = () if ends is None else tuple(map(_name, ends.children))
    return SqlCondition("window", at, roles=roles, said=said, threshold=_threshold(threshold))


def _slack_s(tree: Any) -> float:
    """Read what is added to a distance over a speed, which are seconds: so is a number without a unit."""
    number, unit = tree.children
    return float(_number(number)) if unit is None else _duration(tree)


def _threshold(tree: Any) -> float | None:
    return None if tree is None else _number(tree.children[0])


def _lasting_s(length: Any, least: Any) -> float:
    return seconds_in(str(least), str(length.children[1]), _at(least))


def _of_columns(kind: str, at: At, parts: list[Any]) -> SqlCondition:
    if kind == "placed":
        return SqlCondition(kind, at, said=[text_in(str(each)) for each in parts[1:]])
    if kind == "different":
        columns, _, others = parts
        return SqlCondition(kind, at, tuple(map(_column, columns.children)), tuple(map(_column, others.children)))
    first, *rest = parts
    columns = (_column(first),)
    if kind in ("equal", "similar"):
        within = _number(rest[1]) if len(rest) > 1 and rest[1] is not None else None
        return SqlCondition(kind, at, columns, (_column(rest[0]),), said=within)
    if kind == "named":
        return SqlCondition(kind, at, columns, said=[text_in(str(each)) for each in rest])
    return SqlCondition("tested", at, columns, said=_test(kind, rest))


def _test(kind: str, parts: list[Any]) -> dict[str, Any]:
    if kind == "limited":
        comparison, limit, until, end = parts
        limited = {COMPARISONS[str(comparison)]: _number(limit)}
        return limited if until is None else {**limited, _until(str(comparison), until): _number(end)}
    if kind == "ranged":
        return dict(zip(("at_least", "at_most"), map(_number, parts), strict=True))
    return {"is": _scalar(parts[0])} if kind == "being" else {"in": [_scalar(each) for each in parts]}


def _until(comparison: str, until: Any) -> str:
    """Return the field that says what ends a spell of values beyond a limit."""
    opposite = "<" if comparison.startswith(">") else ">"
    if str(until) != opposite:
        raise refusal(_at(until), f"is {until}: UNTIL {opposite} and a number, behind {comparison}")
    return "until_below" if opposite == "<" else "until_above"


def _clause(tree: Any) -> Clause:
    kind, at, parts = tree.data, _at(tree), list(tree.children)
    if kind in ("form", "sensors"):
        return Clause(kind, str(parts[0]).lower(), at)
    if kind == "joint":
        return Clause("joint_threshold", _number(parts[0]), at)
    if kind == "at_least":
        count = _number(parts[0])
        return Clause(kind, count if parts[1] is None else {"of": _names(parts[1]), "count": count}, at)
    if kind == "limits":
        return Clause(kind, _once_each((str(each.children[0]), _number(each.children[1]), each) for each in parts), at)
    if kind == "coalesce":
        return Clause(kind, _once_each((*_option(each), each) for each in parts), at)
    kind = "source" if kind == "one_source" else kind
    return Clause(kind, "allow" if kind == "unreachable" else _object(parts[0]), at)


def _names(tree: Any) -> list[str]:
    return [_name(each) for each in tree.children]


def _option(tree: Any) -> tuple[str, Any]:
    """Return an option of COALESCE as the field of `coalesce` that it sets."""
    parts = list(tree.children)
    if tree.data in ("gap", "hold"):
        return f"{tree.data}_s", _duration(parts[0])
    if tree.data == "by":
        return "by", [_label(each.children[0]) for each in parts]
    word = str(parts[0]).lower()
    if tree.data == "interval":
        return "interval", word
    return "equivalence", word if tree.data == "plain" else {word: _number(parts[1])}


def _label(tree: Any) -> str:
    if tree.data == "name":
        return attribute_path(_name(tree))
    column = _column(tree)
    return f"{column.role}.{column.name}"


def _object(tree: Any) -> dict[str, Any]:
    """Return a JSON object, such as that of `alert`; it is as deep as the grammar lets it be."""
    members = [each for each in tree.children if each is not None]
    return _once_each((name_in(str(each.children[0])), _value(each.children[1]), each) for each in members)


def _value(tree: Any) -> Any:
    if tree.data == "scalar_of_json":
        return _scalar(tree)
    if tree.data == "flat":
        return _object(tree)
    return [_value(each) for each in tree.children if each is not None]


def _once_each(pairs: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    """Return what is set, each by its name; refuse what is set twice."""
    fields: dict[str, Any] = {}
    for field, value, tree in pairs:
        if field in fields:
            raise refusal(_at(tree), f"sets {field} a second time: once is enough")
        fields[field] = value
    return fields


Places = Mapping[str, At]
"""Where the fields of a query's JSON stand in its text."""
