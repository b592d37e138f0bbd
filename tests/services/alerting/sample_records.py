"""Kafka records for the tests, small and valid unless told otherwise; and what the database made of them."""

import itertools
import json
import random
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, Engine, func, select, text

from coincide import Histogram
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.last_change import LastChange
from coincide.wire.status_record import Totals
from services.alerting.alerts.raising import Raising
from services.alerting.alerts.system_conditions import SystemConditions
from services.alerting.following.followed_topics import Position
from services.alerting.following.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.records.receiver import Receivers
from services.alerting.records.records import Topics
from services.alerting.store import alert_rows, delivery_rows
from services.alerting.store.episode_rows import read_episode, read_revisions
from services.alerting.store.expiry import RECORDS, Room
from services.alerting.store.live_rows import StoredRow
from services.alerting.store.tables import metadata
from services.common.log.records import Record
from services.common.topics.topic_names import TopicNames
from services.ingest.registry.sensors import NO_PARTICULARS, Sensor

P = ParamSpec("P")
R = TypeVar("R")

NAMES = TopicNames("reef.")
#: The topics' names as records have them, of a system that has a prefix of its own.
TOPICS = Topics(*map(NAMES.full, Topics().names()))
RECEIVED_AT_MS = 1_790_000_000_000


_offsets = itertools.count()


def record(topic: str, value: object, key: bytes | None = None, timestamp: int = RECEIVED_AT_MS) -> Record:
    encoded = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Record(topic, 0, next(_offsets), timestamp, key, encoded)


def match(id_: str = "m-1", *, sensors: Sequence[str] = ("imb", "baksan"), **others: Any) -> dict[str, Any]:
    said = {"v": 1, "id": id_, "query": "sn1987a", "query_version": 1, "area": "sn1987a", "probability": 0.5}
    said |= {"earliest_us": 100, "latest_us": 200, "received_at_us": RECEIVED_AT_MS * 1000}
    said |= {"occurred": None, "chance_rate_hz": None, **others}
    span = {"detected_at_us": said["earliest_us"], **{name: said[name] for name in ("earliest_us", "latest_us")}}
    of_each = {"stream": "neutrino", **span, "template": "t-0", "attributes": {}}
    places = zip("abcdef", sensors, strict=False)
    members = [{"role": role, "sensor": sensor, "id": f"h-{sensor}", **of_each} for role, sensor in places]
    return {"members": members, **said}


def match_record(id_: str = "m-1", **fields: Any) -> Record:
    return record(TOPICS.matches, match(id_, **fields))


def evidence(id_: str = "m-1", posterior: float | None = 0.75, **others: Any) -> dict[str, Any]:
    """The evidence of a match of `match()`; without a posterior it says that nobody has watched the area yet."""
    said: dict[str, Any] = {"v": 1, "id": id_, "query": "sn1987a", "query_version": 1, "area": "sn1987a"}
    said |= {"bits": None if posterior is None else 3.5, "posterior": posterior}
    if posterior is None:
        return {**said, "unknown": "not_watched_yet", "rates": "declared", "terms": [], "members": [], **others}
    said |= {"posterior_least": posterior, "posterior_greatest": posterior, "rates": "declared"}
    terms = [{"kind": "events", "bits": -12.5, "sentence": "Events come twice a day."}]
    terms.append({"kind": "times", "bits": 16.0, "sentence": "The times fit well."})
    members = [{"sensor": sensor, "id": f"h-{sensor}", "belongs": posterior} for sensor in ("imb", "baksan")]
    return {**said, "terms": terms, "members": members, **others}


def evidence_record(
    id_: str = "m-1", posterior: float | None = 0.75, timestamp: int = RECEIVED_AT_MS, **others: Any
) -> Record:
    return record(TOPICS.evidence, evidence(id_, posterior, **others), timestamp=timestamp)


def shown(found: dict[str, Any], its_evidence: dict[str, Any] | None = None) -> dict[str, Any]:
    """A match or episode as REST and the live stream show it: evidence says nothing again that the match says."""
    said = ("v", "query", "query_version", "area")
    seen = its_evidence and {name: value for name, value in its_evidence.items() if name not in said}
    return {**found, "evidence": seen}


def episode(id_: str = "e-1", revision: int = 1, state: str = "open", **others: Any) -> dict[str, Any]:
    said = {"v": 1, "id": id_, "query": "intruder", "query_version": 3, "area": "bay", "revision": revision}
    span = {
        "group": {},
        "start_us": 100,
        "end_us": 200,
        "duration_s": 2e-5,
        "uncertainty_s": 8e-5,
        "count": 1,
        "best_probability": 0.5,
    }
    states = {"open": state == "open", "final": state == "final", "received_at_us": RECEIVED_AT_MS * 1000}
    members = [{"sensor": "geo-1", "id": "d-1", "stream": "seismic", "detected_at_us": 150, "attributes": {"db": 90}}]
    return {**said, **span, **states, "members": members, "members_truncated": False, **others}


def retraction(id_: str = "e-1", revision: int = 1, *, by: Sequence[str] = (), **others: Any) -> dict[str, Any]:
    said = {"v": 1, "id": id_, "query": "intruder", "query_version": 3, "area": "bay", "revision": revision}
    return {**said, "retracted": True, "replaced_by": list(by), **others}


def episode_record(id_: str = "e-1", revision: int = 1, state: str = "open", **others: Any) -> Record:
    """The record of an episode in a `state`; "retracted" is one."""
    made = retraction(id_, revision, **others) if state == "retracted" else episode(id_, revision, state, **others)
    return record(TOPICS.episodes, made)


def dead_letter(dead_id: str = "d-1", **fields: Any) -> dict[str, Any]:
    letter = {"v": 1, "dead_id": dead_id, "source": "fusion", "reason": "late", "detail": "late by 3 s"}
    return {**letter, "area": "bay", "sensor": "s1", "record": None, **fields}


def dead_letter_record(dead_id: str = "d-1", timestamp: int = RECEIVED_AT_MS, **fields: Any) -> Record:
    return record(TOPICS.dead_letters, dead_letter(dead_id, **fields), timestamp=timestamp)


def query(id_: str = "intruder", threshold: float = 0.6) -> dict[str, Any]:
    edge = {"between": ["s", "a"], "window_s": 2.0, "threshold": threshold}
    return {"id": id_, "from": {"s": "seismic", "a": "acoustic"}, "within": [edge]}


def change_record(id_: str, version: int, **fields: Any) -> Record:
    change = {"v": 1, "id": id_, "version": version, "changed_at_us": 1, **fields}
    if not change.get("removed"):
        change.setdefault("query", query(id_))
    return record(TOPICS.queries, change, key=id_.encode())


EVENT = {"per_day": 2, "heard_by": 0.8}


def ruled(
    id_: str = "intruder", version: int = 3, *, coalesces: bool = True, has_event: bool = False, **rule: Any
) -> Record:
    """The record of a query that has an alert rule."""
    document = {**query(id_), "alert": rule, **({"coalesce": {"gap_s": 1}} if coalesces else {})}
    document |= {"event": EVENT} if has_event else {}
    return change_record(id_, version, query=document)


def control_record(key: str, value: object, topic: str = TOPICS.alert_controls) -> Record:
    return record(topic, value, key=key.encode())


def silence(id_: str = "s-1", *, until_us: int = 2**60, **matchers: str) -> Record:
    said = {"v": 1, "id": id_, "matchers": matchers, "from_us": 0, "until_us": until_us}
    return control_record(f"silence/{id_}", {**said, "by": "ann", "why": "maintenance", "created_at_us": 0})


def status_record(shard: int, versions: dict[str, int], **others: Any) -> Record:
    counted = {"paused": False, "matches": 0, "episodes": 0, "work": {"seconds": 0.0, "candidates": 0}}
    queries = {id_: {"version": version, **counted, **others} for id_, version in versions.items()}
    return shard_record(shard, queries=queries)


#: What a shard tells that has seen nothing.
STATUS: dict[str, Any] = {
    "v": 1,
    "queries": {},
    "totals": dict.fromkeys(Totals.__struct_fields__, 0),
    "buffered": {},
    "busiest_hz": {},
    "rates_hz": {"areas": {}, "elsewhere": {}},
    "limits": {"max_matches_per_detection": 1_000, "max_candidates_per_detection": 50_000},
    "template_pairs": {"hits": 0, "misses": 0, "kept": 0},
    "watermark_us": {"least": None, "greatest": None},
    "area_watermarks_us": {},
    "control_offset": None,
}


def shard_record(number: int, **fields: Any) -> Record:
    return record(TOPICS.status, {**STATUS, "shard": number, **fields}, key=f"shard-{number}".encode())


def sensor_record(
    id_: str, area: str = "bay", key: str = "", said: Particulars = NO_PARTICULARS, **streams: Histogram
) -> Record:
    """The record by which ingest registers a sensor."""
    value = Sensor(id_, area, MappingProxyType(streams), said, LastChange(1, RECEIVED_AT_MS * 1000)).to_record()
    return record(NAMES.full("sensors"), value, key=(key or id_).encode())


ROOM = Room(dict.fromkeys(RECORDS, 10**12), 10**9)  # more than any test stores


COPIED = "query, query_version, area, probability, earliest_us, latest_us, received_at_us"
MULTIPLY = text(
    "WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count) "
    f"INSERT INTO matches (id, {COPIED}, body) SELECT 'm-' || n, {COPIED}, "
    "replace(body, '\"m-1\"', '\"m-' || n || '\"') FROM matches, numbers"
)


class Database:
    """A database with its one writer; what was stored in it is read back."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.metrics = Metrics(CollectorRegistry())
        self.receivers = Receivers([])
        self.now_us = RECEIVED_AT_MS * 1000
        self.raising = Raising(self.receivers, now_us=lambda: self.now_us)
        self.conditions = SystemConditions(clock_s=lambda: self.now_us / 1e6)
        self.storage = Storage(engine, self.metrics, NAMES, self.raising, self.conditions)

    def store(self, records: Sequence[Record], reached: Sequence[Position] = ()) -> list[StoredRow]:
        return self.storage.store(records, reached)

    def multiply_match(self, count: int) -> None:
        """Store the one match that is there, m-1, again as m-2 and so on, until there are `count`."""
        with self.engine.begin() as connection:
            connection.execute(MULTIPLY, {"count": count})

    def read(self, read: Callable[Concatenate[Connection, P], R], *rest: P.args, **named: P.kwargs) -> R:
        """What `read` returns from a connection of its own."""
        with self.engine.connect() as connection:
            return read(connection, *rest, **named)

    def episode(self, id_: str = "e-1") -> dict[str, Any] | None:
        """An episode as it was written."""
        body = self.read(read_episode, id_)
        read = None if body is None else json.loads(body)
        return read and {name: value for name, value in read.items() if name != "evidence"}

    def revisions(self, id_: str = "e-1") -> list[tuple[int, str]]:
        """Revision and state of every one kept, oldest first."""
        bodies = [json.loads(row.body) for row in self.read(read_revisions, id_, None, 1000)]
        return [(body["revision"], state_of(body)) for body in reversed(bodies)]

    def sweep(self, after_s: float = 0.0) -> list[StoredRow]:
        """What time alone changes, so much later."""
        self.now_us += round(after_s * 1e6)
        return self.storage.sweep()

    def alerts(self, **filters: Any) -> list[dict[str, Any]]:
        """Every alert that passes, as it is now, newest first."""
        rows = self.read(alert_rows.read_newest_first, alert_rows.AlertFilter(**filters), None, 10_000)
        return [json.loads(row.body) for row in rows]

    def history(self, alert: str) -> list[str]:
        """What happened to an alert, oldest first."""
        return [row.kind for row in reversed(self.read(alert_rows.read_transitions, alert, None, 1000))]

    def outbox(self, receiver: str = "ops") -> list[tuple[str, str]]:
        """What waits for a receiver: what happened, and the title, in the order in which it is told."""
        waiting = self.read(delivery_rows.read_waiting, receiver, [], 10_000)
        return [(each.change, each.alert.title) for each in waiting]

    def delivered(self, *receivers: str) -> list[Record]:
        """The records that say that all that waits for these receivers has been told."""
        return [
            control_record(
                f"delivery/{receiver}/{each.key}",
                {
                    "v": 1,
                    "receiver": receiver,
                    "key": each.key,
                    "state": "delivered",
                    "at_us": self.now_us,
                    "attempts": 1,
                    "alert": each.alert.id,
                    "change": each.change,
                    "revision": each.alert.revision,
                },
                TOPICS.deliveries,
            )
            for receiver in receivers
            for each in self.read(delivery_rows.read_waiting, receiver, [], 1000)
        ]

    def rows(self, table: str) -> int:
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(metadata.tables[table])).scalar_one()

    def knows(self, name: str, **labels: str) -> bool:
        """Whether the metric `coincide_alerting_<name>` has these labels."""
        return self.metrics.registry.get_sample_value(f"coincide_alerting_{name}", labels) is not None

    def count(self, name: str, **labels: str) -> float:
        """What the metric `coincide_alerting_<name>` says."""
        return self.metrics.registry.get_sample_value(f"coincide_alerting_{name}", labels) or 0.0


def state_of(body: dict[str, Any]) -> str:
    if body.get("retracted"):
        return "retracted"
    return "open" if body["open"] else "final" if body["final"] else "closed"


def drawn_conditions(chance: random.Random, **choices: Sequence[Any]) -> dict[str, Any]:
    """Some conditions of a filter: on the time, and on each of `choices` one of its values."""
    from_us, to_us = sorted((chance.randrange(130), chance.randrange(130)))
    probabilities = [0.2, 0.3, 0.5, 1.0]
    drawn = {"from_us": from_us, "to_us": to_us, "query": chance.choice("pq"), "area": chance.choice("xyz")}
    drawn |= {name: chance.choice(values) for name, values in choices.items()}
    drawn |= {"min_probability": chance.choice(probabilities)}
    return {name: value for name, value in drawn.items() if chance.random() < 0.3}
