"""The columns of results: what a row of CSV or Parquet shows of the JSON of one result of each kind.

Whatever a record says in another type than the column's is left empty there, so that none can break a file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from services.common.instants import in_rfc_3339

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
INT64 = range(-(2**63), 2**63)
DURATIONS = frozenset({"late_by_us"})
OF_USERS = frozenset({"attributes", "record", "group", "labels"})  # what stands inside is theirs, whatever it is called

encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.Decoder().decode

Parts = Iterable[Sequence[str]]  # the JSON texts of rows, some at a time


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and the path to its value in the JSON, by default the name."""

    name: str
    kind: Kind
    path: Sequence[str] = ()

    def value(self, body: Mapping[str, Any]) -> Any:
        """Return the value in `body`; None where there is none of this kind. What is of kind json is its text."""
        value: Any = body
        for name in self.path or (self.name,):
            value = value.get(name) if isinstance(value, dict) else None
        if self.kind == "json":
            return None if value is None else encode_json(value).decode()
        return value if _is_of(value, self.kind) else None


def _is_of(value: Any, kind: Kind) -> bool:
    if not isinstance(value, IS_OF[kind]) or (isinstance(value, bool) and kind != "flag"):
        return False
    return value in INT64 if kind in ("whole", "time") else True


def _columns(**kinds: Kind) -> list[Column]:
    return [Column(name, kind) for name, kind in kinds.items()]


MEMBER_COLUMNS = [
    *_columns(role="text", sensor="text", id="text", stream="text", detected_at_us="time"),
    *_columns(earliest_us="time", latest_us="time", template="text", attributes="json"),
]
MATCH_COLUMNS = [
    *_columns(id="text", query="text", query_version="whole", area="text", probability="real"),
    *_columns(earliest_us="time", latest_us="time", received_at_us="time"),
    Column("occurred_mean_us", "time", ("occurred", "mean_us")),
    Column("occurred_std_s", "real", ("occurred", "std_s")),
    Column("occurred_p05_us", "time", ("occurred", "p05_us")),
    Column("occurred_p95_us", "time", ("occurred", "p95_us")),
    *_columns(chance_rate_hz="real", chance_rate_error_hz="real"),
    Column("joint_probability", "real", ("joint", "probability")),
    Column("joint_least", "real", ("joint", "least")),
    Column("joint_greatest", "real", ("joint", "greatest")),
    Column("joint_certain", "flag", ("joint", "certain")),
    *_columns(superseded_by="text", supersedes="texts", members="members", edges="json", unknown="json"),
]
EPISODE_COLUMNS = [
    *_columns(id="text", query="text", query_version="whole", area="text", revision="whole", retracted="flag"),
    *_columns(replaced_by="texts", group="json", start_us="time", end_us="time", count="whole"),
    *_columns(duration_s="real", uncertainty_s="real"),
    *_columns(best_probability="real", open="flag", final="flag", received_at_us="time"),
    *_columns(members="members", members_truncated="flag"),
]
ALERT_COLUMNS = [
    *_columns(id="text", kind="text", source="text", query="text", query_version="whole", area="text"),
    *_columns(severity="text", title="text", state="text", probability="real", members="whole"),
    *_columns(start_us="time", end_us="time", fired_at_us="time", resolved_at_us="time", resolved_because="text"),
    Column("acknowledged_by", "text", ("acknowledged", "by")),
    Column("acknowledged_why", "text", ("acknowledged", "why")),
    Column("acknowledged_at_us", "time", ("acknowledged", "at_us")),
    *_columns(withheld="text", labels="json", text="text", group="json", stream="text"),
]
DEAD_LETTER_COLUMNS = [
    *_columns(dead_id="text", source="text", reason="text", detail="text", received_at_us="time"),
    *_columns(area="text", stream="text", sensor="text", id="text", late_by_us="whole", record="json"),
]


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
