"""Episodes on a real Kafka: the same in the end, whatever is killed, lost, repeated or read again."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest

from coincide.wire.results.episode_record import STATES
from deploy.local.broker import Broker
from services.alerting.records.records import Topics
from tests.integration.service_process import AlertingProcess, Event, LiveReader, running_alerting
from tests.integration.topics import OwnTopics
from tests.patience import until
from tests.services.alerting.sample_records import change_record, episode, match, retraction, shown, state_of

pytestmark = pytest.mark.jvm

TOPICS = Topics()
QUERY = "long"
EPISODES = 20
MATCHES = [f"m-long-{n}" for n in range(10)]
CHANGES = 600

Record = dict[str, Any]


def test_a_kill_half_way_and_a_lost_database_change_nothing(kafka: Broker, tmp_path: Path) -> None:
    records, topics = _history(random.Random(6)), OwnTopics.create(kafka, "episodes.")
    history = {id_: _revisions(records, id_) for id_ in {record["id"] for record in records}}
    expected = {id_: revisions[-1] for id_, revisions in history.items()}
    expected = {id_: shown(record) for id_, record in expected.items()}
    live = {id_: record for id_, record in expected.items() if "retracted" not in record}
    reader = LiveReader(f"kind=all&query={QUERY}")
    half = len(records) // 2
    topics.send(TOPICS.queries, [(QUERY.encode(), change_record(QUERY, 1).value)])
    first = threading.Thread(target=_write, args=(topics, records[:half], MATCHES[:5]))
    second = threading.Thread(target=_write, args=(topics, records[half:], MATCHES[5:]))
    with running_alerting(topics.bootstrap, tmp_path, **topics.settings) as alerting:
        alerting.wait_for(f"/v1/queries/{QUERY}", 200)
        reader.read(alerting.url, until=lambda _: True)
        first.start()
        reader.read(alerting.url, until=lambda events: len(events) >= EPISODES // 2)  # each is told of once at least
        alerting.kill()
    first.join()
    second.start()
    with running_alerting(topics.bootstrap, tmp_path, **topics.settings) as alerting:
        alerting.wait_for("/readyz", 200)
        reader.read(alerting.url, until=lambda events: _shown(events) == (live, MATCHES))
        second.join()
        until(lambda: _current(alerting) == expected)
        assert {id_: _stored_revisions(alerting, id_) for id_ in history} == history

    for file in tmp_path.glob("alerting.sqlite3*"):
        file.unlink()
    read = len(reader.events)
    with running_alerting(
        topics.bootstrap, tmp_path, **topics.settings
    ) as alerting:  # a database deleted by hand comes back
        alerting.wait_for("/readyz", 200)
        reader.read(alerting.url, until=lambda events: _shown(events[read:]) == (live, MATCHES))
        until(lambda: _current(alerting) == expected)
        assert _stored_revisions(alerting, "e-0") == history["e-0"]


def _history(chance: random.Random) -> list[Record]:
    """Changes of episodes in the order of their revisions, some written twice as after a crash of the fusion job."""
    records: list[Record] = []
    for revision in range(CHANGES):
        id_ = f"e-{chance.randrange(EPISODES)}"
        said = {"query": QUERY, "area": f"area-{int(id_[2:]) % 5}"}
        if chance.random() < 0.1:
            records.append(retraction(id_, revision, by=["e-other"], **said))
        else:
            states = sorted(chance.sample(STATES[:3], chance.choice([1, 1, 2])), key=STATES.index)
            records += [episode(id_, revision, state, **said) for state in states]
        if chance.random() < 0.05:
            records += records[-chance.randint(1, 30) :]
    return records


def _write(topics: OwnTopics, records: list[Record], matches: list[str]) -> None:
    """Write the episodes, some at a time, and a match after each time."""
    some = -(-len(records) // len(matches))
    for number, id_ in enumerate(matches):
        written = records[number * some : (number + 1) * some]
        topics.send(TOPICS.episodes, [(record["area"].encode(), record) for record in written])
        topics.send(TOPICS.matches, [(b"bay", match(id_, query=QUERY))])


def _revisions(records: list[Record], id_: str) -> list[Record]:
    """What was written of one episode, repetitions left out, oldest first."""
    by_age = {(record["revision"], STATES.index(state_of(record))): record for record in records if record["id"] == id_}
    return [by_age[each] for each in sorted(by_age)]


def _shown(events: list[Event]) -> tuple[dict[str, Record], list[str]]:
    """Return what a page shows that follows the stream: the episodes that are not retracted, and every match."""
    view: dict[str, Record] = {}
    for event in events:
        if event.kind == "episode":
            view[event.data["id"]] = event.data
        elif event.kind == "episode_retracted":
            view.pop(event.data["id"], None)
    return view, [event.data["id"] for event in events if event.kind == "match"]


def _current(alerting: AlertingProcess) -> dict[str, Record]:
    return {item["id"]: item for item in alerting.items("/v1/episodes", retracted="any", limit=1000, query=QUERY)}


def _stored_revisions(alerting: AlertingProcess, id_: str) -> list[Record]:
    items = alerting.items(f"/v1/episodes/{id_}/revisions", limit=9)
    return [{name: item[name] for name in item if name != "stored_at_us"} for item in items]
