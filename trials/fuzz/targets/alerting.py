"""What comes to alerting from Kafka's topics, until a page of the API and a reader of the live stream have it."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from services.alerting.following.handing_over import HandingOver, Listeners
from services.alerting.live.event_stream import event_of, events_of
from services.alerting.receivers.people import text_of
from services.alerting.records.alert import decode_alert
from services.alerting.store.alert_rows import StoredAlert
from services.alerting.store.dialect import for_writing
from services.alerting.store.live_rows import StoredRow
from services.alerting.store.match_rows import StoredMatch
from services.alerting.store.tables import metadata
from services.common.log.records import Record
from tests.services.alerting.clients import Api, running_api
from tests.services.alerting.databases import SqliteDatabases, migrated
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    STATUS,
    TOPICS,
    Database,
    change_record,
    control_record,
    dead_letter,
    episode_record,
    evidence_record,
    match_record,
    record,
    retraction,
    ruled,
    shard_record,
    silence,
    status_record,
)
from trials.fuzz.contracts import examples
from trials.fuzz.target import BrokenLaw, Keyed, Target, held, own_folder

RULED = [
    ruled(severity=[[0.9, "critical"]], title="{area} {query} {probability} {members} {start} {end}", max_per_hour=1),
    ruled("sn1987a", 1, coalesces=False, title="{area}", to=["ops"], resolve_after_s=60),
]
OPS = {"id": "ops", "webhook": {"url": "https://example.org/", "secret": None, "timeout_s": 10.0}, "system": True}
RECEIVER = control_record("receiver/ops", {"v": 1, "receiver": OPS})
STORY = [*RULED, RECEIVER, match_record("m-0"), episode_record("e-0", area="hill"), shard_record(0)]
PAGES = {
    TOPICS.matches: ("/v1/matches?format=csv", "/v1/matches", "/v1/alerts"),
    TOPICS.evidence: ("/v1/matches?format=csv", "/v1/matches?order=posterior", "/v1/alerts"),
    TOPICS.episodes: ("/v1/episodes?format=csv", "/v1/episodes", "/v1/alerts"),
    TOPICS.dead_letters: ("/v1/dead-letters?format=csv", "/v1/dead-letters"),
    TOPICS.queries: ("/v1/queries", "/v1/queries?format=yaml", "/v1/queries/intruder/versions"),
    TOPICS.status: ("/v1/queries", "/v1/rebuilds"),
    TOPICS.deliveries: ("/v1/receivers/ops/deliveries", "/v1/alerts"),
    TOPICS.alert_controls: ("/v1/silences", "/v1/receivers"),
}


@cache
def _databases() -> SqliteDatabases:
    folder = own_folder()
    migrated(f"sqlite:///{folder / 'empty.sqlite3'}")
    databases = SqliteDatabases(folder / "empty.sqlite3", folder)
    held.callback(databases.close)
    return databases


class _Fresh:
    """An API over one database, which is emptied and told the same story before each input."""

    def __init__(self) -> None:
        self.engine = _databases().engine()
        self.api: Api = held.enter_context(running_api(Database(self.engine)))

    def begin(self) -> Database:
        with for_writing(self.engine).begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        database = Database(self.engine)
        database.store(STORY)
        return database


@cache
def _fresh() -> _Fresh:
    return _Fresh()


def _taken(topic: str, line: bytes) -> None:
    """Store a record, twice, let time pass, hand over what was stored, and show it."""
    given = Keyed.of(line)
    fresh = _fresh()
    database = fresh.begin()
    told: list[StoredRow] = []
    for each in (record(topic, given.value, given.key), match_record("m-9"), record(topic, given.value, given.key)):
        told += database.store([each])
    told += [*database.sweep(), *database.sweep(after_s=90_000.0)]
    HandingOver(database.engine, Listeners(told.extend, lambda *_: None)).catch_up()
    _shown(told)
    for page in PAGES[topic]:
        _read(fresh.api, page)


def _shown(rows: Sequence[StoredRow]) -> None:
    for row in rows:
        texts = events_of(row, True) if isinstance(row, StoredMatch) else event_of(row)
        "".join(texts).encode()
        if isinstance(row, StoredAlert):
            text_of(decode_alert(row.body)).encode()


def _read(api: Api, page: str) -> None:
    answer = api.client.get(page)
    if answer.status_code not in (200, 404):
        raise BrokenLaw(f"GET {page} answers {answer.status_code}: {answer.text[:500]}")
    if "=" not in page:
        answer.json()


def _target(name: str, topic: str, seeds: Sequence[Record]) -> Target:
    law = "it is stored or counted as malformed; those behind it are stored, and every page can be read"
    return Target(
        f"alerting/{name}", law, lambda line: _taken(topic, line), lambda: [Keyed(s.key, s.value).line for s in seeds]
    )


def _of_contract(name: str, topic: str) -> Iterator[Record]:
    return (record(topic, each) for each in examples(name))


SUSPENDED: dict[str, Any] = {
    "limit": "max_matches_per_s",
    "allowed": 10,
    "reached": 11.5,
    "received_at_us": 5,
    "area": "bay",
    "sensor": None,
    "id": None,
}
DELIVERY = {"v": 1, "receiver": "ops", "key": "n-1", "state": "dead", "at_us": 5, "attempts": 3, "reason": "gone"}
ACKNOWLEDGED = {"v": 1, "alert": "a-1", "by": "ann", "why": "seen", "at_us": RECEIVED_AT_MS * 1000}
TARGETS = (
    _target(
        "matches",
        TOPICS.matches,
        [match_record(), match_record("m-2", supersedes=["m-0"]), *_of_contract("matches", TOPICS.matches)],
    ),
    _target(
        "evidence",
        TOPICS.evidence,
        [evidence_record("m-0"), evidence_record("m-0", None), *_of_contract("evidence", TOPICS.evidence)],
    ),
    _target(
        "episodes",
        TOPICS.episodes,
        [episode_record(state=s) for s in ("open", "closed", "final", "retracted")]
        + [record(TOPICS.episodes, retraction("e-0", 2, by=["e-1"])), *_of_contract("episodes", TOPICS.episodes)],
    ),
    _target(
        "dead letters",
        TOPICS.dead_letters,
        [record(TOPICS.dead_letters, dead_letter(dead_id)) for dead_id in ("d-1", "d-2")],
    ),
    _target("queries", TOPICS.queries, [*RULED, change_record("near", 1), change_record("intruder", 4, removed=True)]),
    _target(
        "status",
        TOPICS.status,
        [
            status_record(0, {"intruder": 3}, suspended={"bay": SUSPENDED, "": SUSPENDED}),
            shard_record(
                1,
                totals={**STATUS["totals"], "detections": 5},
                busiest_hz={"p": 1.5},
                rates_hz={"areas": {"bay": {"p": 1.0}}, "elsewhere": {"p": 0.5}},
            ),
            *(record(TOPICS.status, each, b"rebuild/" + each["id"].encode()) for each in examples("rebuild")),
        ],
    ),
    _target(
        "alert controls", TOPICS.alert_controls, [silence(area="bay"), RECEIVER, control_record("silence/s-1", None)]
    ),
    _target(
        "deliveries",
        TOPICS.deliveries,
        [
            control_record("delivery/ops/n-1", DELIVERY, TOPICS.deliveries),
            control_record("acknowledgement/a-1", ACKNOWLEDGED, TOPICS.deliveries),
        ],
    ),
)
