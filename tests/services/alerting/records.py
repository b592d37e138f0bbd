"""Kafka records for the tests, small and valid unless told otherwise; and what the database made of them."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, func, select

from services.alerting.kafka.records import Topics
from services.alerting.metrics import Metrics
from services.alerting.store.episode_rows import read_episode, read_revisions
from services.alerting.store.tables import metadata

P = ParamSpec("P")
R = TypeVar("R")

TOPICS = Topics()
RECEIVED_AT_MS = 1_790_000_000_000


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


_offsets = itertools.count()


def record(topic: str, value: object, key: bytes | None = None, timestamp: int = RECEIVED_AT_MS) -> Record:
    encoded = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Record(topic, 0, next(_offsets), timestamp, key, encoded)


def match(
    id_: str = "m-1",
    *,
    query: str = "sn1987a",
    area: str = "sn1987a",
    sensors: Sequence[str] = ("imb", "baksan"),
    probability: float = 0.5,
    earliest_us: float = 100,
    latest_us: float = 200,
    **others: Any,
) -> dict[str, Any]:
    members = [
        {
            "role": role,
            "sensor": sensor,
            "id": f"h-{sensor}",
            "stream": "neutrino",
            "detected_at_us": earliest_us,
            "earliest_us": earliest_us,
            "latest_us": latest_us,
            "template": "t-0",
            "attributes": {},
        }
        for role, sensor in zip("abcdef", sensors, strict=False)
    ]
    return {
        "v": 1,
        "id": id_,
        "query": query,
        "query_version": 1,
        "area": area,
        "probability": probability,
        "earliest_us": earliest_us,
        "latest_us": latest_us,
        "received_at_us": RECEIVED_AT_MS * 1000,
        "members": members,
        **others,
    }


def match_record(id_: str = "m-1", **fields: Any) -> Record:
    return record(TOPICS.matches, match(id_, **fields))


def episode(id_: str = "e-1", revision: int = 1, state: str = "open", **others: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "id": id_,
        "query": "intruder",
        "query_version": 3,
        "area": "bay",
        "group": {"s.sensor": "geo-1"},
        "revision": revision,
        "start_us": 100,
        "end_us": 200,
        "count": 1,
        "best_probability": 0.5,
        "open": state == "open",
        "final": state == "final",
        "received_at_us": RECEIVED_AT_MS * 1000,
        "members": [{"sensor": "geo-1", "id": "d-1", "stream": "seismic", "detected_at_us": 150}],
        "members_truncated": False,
        **others,
    }


def retraction(id_: str = "e-1", revision: int = 1, *, by: Sequence[str] = (), **others: Any) -> dict[str, Any]:
    said = {"v": 1, "id": id_, "query": "intruder", "query_version": 3, "area": "bay", "revision": revision}
    return {**said, "retracted": True, "replaced_by": list(by), **others}


def episode_record(id_: str = "e-1", revision: int = 1, state: str = "open", **others: Any) -> Record:
    """The record of an episode in a `state`; "retracted" is one."""
    made = retraction(id_, revision, **others) if state == "retracted" else episode(id_, revision, state, **others)
    return record(TOPICS.episodes, made)


def dead_letter(dead_id: str | None = "d-1", **fields: Any) -> dict[str, Any]:
    letter = {"v": 1, "source": "fusion", "reason": "late", "detail": "late by 3 s", "area": "bay", "sensor": "s1"}
    return {**letter, **({"dead_id": dead_id} if dead_id else {}), **fields}


def dead_letter_record(dead_id: str | None = "d-1", timestamp: int = RECEIVED_AT_MS, **fields: Any) -> Record:
    return record(TOPICS.dead_letters, dead_letter(dead_id, **fields), timestamp=timestamp)


def query(id_: str = "intruder", threshold: float = 0.6) -> dict[str, Any]:
    edge = {"between": ["s", "a"], "window_s": 2.0, "threshold": threshold}
    return {"id": id_, "from": {"s": "seismic", "a": "acoustic"}, "within": [edge]}


def change_record(id_: str, version: int, **fields: Any) -> Record:
    change = {"v": 1, "id": id_, "version": version, "changed_at_us": 1, **fields}
    if not change.get("removed"):
        change.setdefault("query", query(id_))
    return record(TOPICS.queries, change, key=id_.encode())


def status_record(shard: int, versions: dict[str, int], **others: Any) -> Record:
    queries = {id_: {"version": version, "paused": False, "matches": 0, **others} for id_, version in versions.items()}
    return record(TOPICS.status, {"v": 1, "shard": shard, "queries": queries}, key=f"shard-{shard}".encode())


def reading(engine: Engine, read: Callable[Concatenate[Connection, P], R], *rest: P.args, **named: P.kwargs) -> R:
    """What `read` returns from a connection of its own."""
    with engine.connect() as connection:
        return read(connection, *rest, **named)


def current(engine: Engine, id_: str = "e-1") -> dict[str, Any] | None:
    with engine.connect() as connection:
        body = read_episode(connection, id_)
    return None if body is None else json.loads(body)


def revisions(engine: Engine, id_: str = "e-1") -> list[tuple[int, str]]:
    """Revision and state of every one kept, oldest first."""
    with engine.connect() as connection:
        bodies = [json.loads(row.body) for row in read_revisions(connection, id_, None, 1000)]
    return [(body["revision"], state_of(body)) for body in reversed(bodies)]


def state_of(body: dict[str, Any]) -> str:
    if body.get("retracted"):
        return "retracted"
    return "open" if body["open"] else "final" if body["final"] else "closed"


def rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(metadata.tables[table])).scalar_one()


def counted(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"coincide_alerting_{name}", labels) or 0.0
