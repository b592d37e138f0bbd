"""The local projection of the queries topic, which is the truth."""

import threading

from kafka import TopicPartition
from sqlalchemy import Engine

from services.alerting.batch import Sorter
from services.alerting.kafka_session import KafkaSession
from services.alerting.records import QueryChange
from services.alerting.store.query_rows import apply_changes, replace_queries

POLL_S = 0.25


def rebuild_queries(
    session: KafkaSession, partition: TopicPartition, engine: Engine, sorter: Sorter, stopping: threading.Event
) -> bool:
    """Read the whole topic and make it the database's state of the queries; return whether it held any record.

    It is read at every start: a compacted topic of some hundred queries takes milliseconds, and neither a database
    from another cluster nor one deleted by hand can then disagree with it.
    """
    end = session.ends([partition])[partition]
    session.read_from({partition: None})
    changes: list[QueryChange] = []
    held_any = False
    while session.position(partition) < end and not stopping.is_set():
        records = session.poll(POLL_S)
        held_any = held_any or bool(records)
        changes += sorter.sort(records).changes
    if not stopping.is_set():
        _replace(engine, changes)
    return held_any


def _replace(engine: Engine, changes: list[QueryChange]) -> None:
    newest: dict[str, QueryChange] = {}
    for change in changes:
        if change.id not in newest or change.version > newest[change.id].version:
            newest[change.id] = change
    with engine.begin() as connection:
        replace_queries(connection, newest.values())
        apply_changes(connection, changes)  # all of them are history; none is newer than the state
