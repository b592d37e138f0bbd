"""The columns of results: what a row of CSV or Parquet shows of the JSON of one result, derived from its declaration.

Whatever a record says in another type than the column's is left empty there, so that none can break a file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct, inspect

from services.common.clock import in_rfc_3339

Kind = Literal["text", "whole", "real", "flag", "time", "texts", "members", "json"]
Times = Literal["us", "rfc3339"]

IS_OF: dict[Kind, tuple[type, ...]] = {
    "text": (str,),
    "whole": (int,),
    "real": (int, float),
    "flag": (bool,),
    "time": (int,),
    "texts": (list,),
    "members": (list,),
}
KINDS: dict[type[inspect.Type], Kind] = {
    inspect.StrType: "text",
    inspect.LiteralType: "text",
    inspect.FloatType: "real",
    inspect.BoolType: "flag",
}
INT64 = range(-(2**63), 2**63)
DURATIONS = frozenset({"late_by_us"})
OF_USERS = frozenset({"attributes", "record", "group", "labels"})  # what stands inside is theirs, whatever it is called

encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.Decoder().decode

Parts = Iterable[Sequence[str]]  # the JSON texts of rows, some at a time


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, the path to its value in the JSON, and of members their columns."""

    name: str
    kind: Kind
    path: Sequence[str]
    of_members: Sequence["Column"] = ()

    def value(self, body: Mapping[str, Any]) -> Any:
        """Return the value in `body`; None where there is none of this kind. What is of kind json is its text."""
        value: Any = body
        for name in self.path:
            value = value.get(name) if isinstance(value, dict) else None
        if self.kind == "json":
            return None if value is None else encode_json(value).decode()
        return value if _is_of(value, self.kind) else None


def _is_of(value: Any, kind: Kind) -> bool:
    if not isinstance(value, IS_OF[kind]) or (isinstance(value, bool) and kind != "flag"):
        return False
    return value in INT64 if kind in ("whole", "time") else True


def columns_of(record: type[Struct]) -> list[Column]:
    """Return the columns of a record: one for each plain field, and for each plain field of a record in it."""
    return _columns(inspect.type_info(record))


def _columns(record: inspect.Type, path: Sequence[str] = ()) -> list[Column]:
    assert isinstance(record, inspect.StructType)  # noqa: S101 - of records alone
    named = [(field.encode_name, _bare(field.type)) for field in record.fields if field.encode_name != "v"]
    return [column for name, type_ in named for column in _of_field(type_, (*path, name))]


def _of_field(type_: inspect.Type, path: Sequence[str]) -> list[Column]:
    name = "_".join(path)
    if isinstance(type_, inspect.StructType):
        return _columns(type_, path)
    if isinstance(type_, inspect.ListType) and path == ("members",):
        return [Column(name, "members", path, _columns(_bare(type_.item_type)))]
    return [Column(name, _kind(type_, name), path)]


def _kind(type_: inspect.Type, name: str) -> Kind:
    if isinstance(type_, inspect.IntType):
        return "time" if name.endswith("_us") and name not in DURATIONS else "whole"
    if isinstance(type_, inspect.ListType):
        return "texts" if isinstance(_bare(type_.item_type), inspect.StrType) else "json"
    return KINDS.get(type(type_), "json")


def _bare(type_: inspect.Type) -> inspect.Type:
    """Return a type without what is said about it, and without null."""
    if isinstance(type_, inspect.Metadata):
        return _bare(type_.type)
    if isinstance(type_, inspect.UnionType):
        others = [each for each in type_.types if not isinstance(each, inspect.NoneType)]
        return _bare(others[0]) if len(others) == 1 else type_
    return type_


def with_rfc_3339(value: Any) -> Any:
    """Return JSON in which each time `..._us` has the same time in RFC 3339 beside it, under its name without `_us`."""
    if isinstance(value, list):
        return [with_rfc_3339(each) for each in value]
    if not isinstance(value, dict):
        return value
    shown: dict[str, Any] = {}
    for name, each in value.items():
        shown[name] = each if name in OF_USERS else with_rfc_3339(each)
        bare = name.removesuffix("_us")
        if bare != name and bare not in value and name not in DURATIONS and _is_of(each, "time"):
            shown[bare] = in_rfc_3339(each)
    return shown


def column_names(column: Column, times: Times) -> list[str]:
    """Return the names that a column has: a time in RFC 3339 stands beside the microseconds."""
    bare = [column.name.removesuffix("_us")] if column.kind == "time" and times == "rfc3339" else []
    return [column.name, *bare]
