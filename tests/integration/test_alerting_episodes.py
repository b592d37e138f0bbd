"""Episodes on a real Kafka: the same in the end, whatever is killed, lost, repeated or read again."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest

from deploy.local.broker import Broker
from services.alerting.kafka.records import STATES, Topics
from tests.integration.live_reader import Event, LiveReader
from tests.integration.service_process import AlertingProcess, running_alerting, until
from tests.integration.topics import send
from tests.services.alerting.records import episode, match, retraction, state_of

pytestmark = pytest.mark.jvm

TOPICS = Topics()
QUERY = "long"  # this test's own: other tests write to the topics, too
EPISODES = 20
MATCHES = [f"m-long-{n}" for n in range(10)]
CHANGES = 600

Record = dict[str, Any]


def test_a_kill_half_way_and_a_lost_database_change_nothing(kafka: Broker, tmp_path: Path) -> None:
    records = _history(random.Random(6))
    expected = _what_counts(records)
    reader = LiveReader(f"kind=all&query={QUERY}")
    half = len(records) // 2
    first = threading.Thread(target=_write, args=(kafka.bootstrap, records[:half], MATCHES[:5]))
    second = threading.Thread(target=_write, args=(kafka.bootstrap, records[half:], MATCHES[5:]))
    with running_alerting(kafka.bootstrap, tmp_path) as alerting:
        alerting.wait_for("/readyz", 200)
        reader.read(alerting.url, until=lambda _: True)
        first.start()
        reader.read(alerting.url, until=lambda events: len(events) >= EPISODES // 2)  # each is told of once at least
        alerting.kill()
    first.join()
    second.start()
    with running_alerting(kafka.bootstrap, tmp_path) as alerting:
        reader.read(alerting.url, until=lambda events: _said(events) == (_live(expected), MATCHES))
        second.join()
        until(lambda: _served(alerting) == expected)
        for id_ in expected:
            assert _revisions(alerting, id_) == _news(records, id_)

    for file in tmp_path.glob("alerting.sqlite3*"):
        file.unlink()
    read = len(reader.events)
    with running_alerting(kafka.bootstrap, tmp_path) as alerting:  # a database deleted by hand comes back
        reader.read(alerting.url, until=lambda events: _said(events[read:]) == (_live(expected), MATCHES))
        until(lambda: _served(alerting) == expected)
        assert _revisions(alerting, "e-0") == _news(records, "e-0")


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


def _write(bootstrap: str, records: list[Record], matches: list[str]) -> None:
    """Write the episodes, some at a time, and a match after each time."""
    some = -(-len(records) // len(matches))
    for number, id_ in enumerate(matches):
        written = records[number * some : (number + 1) * some]
        send(bootstrap, TOPICS.episodes, [(record["area"].encode(), record) for record in written])
        send(bootstrap, TOPICS.matches, [(b"bay", match(id_, query=QUERY))])


def _standing(record: Record) -> tuple[int, int]:
    return record["revision"], STATES.index(state_of(record))


def _what_counts(records: list[Record]) -> dict[str, Record]:
    return {record["id"]: record for record in sorted(records, key=_standing)}


def _news(records: list[Record], id_: str) -> list[Record]:
    """What was written of one episode, repetitions left out, oldest first."""
    standings = {_standing(record): record for record in records if record["id"] == id_}
    return [standings[each] for each in sorted(standings)]


def _live(records: dict[str, Record]) -> dict[str, Record]:
    return {id_: record for id_, record in records.items() if "retracted" not in record}


def _said(events: list[Event]) -> tuple[dict[str, Record], list[str]]:
    """What a page shows that follows the stream: the episodes that are, and every match."""
    view: dict[str, Record] = {}
    for event in events:
        if event.kind == "episode":
            view[event.data["id"]] = event.data
        elif event.kind == "episode_retracted":
            view.pop(event.data["id"], None)
    return view, [event.data["id"] for event in events if event.kind == "match"]


def _served(alerting: AlertingProcess) -> dict[str, Record]:
    page = alerting.get(f"/v1/episodes?retracted=any&limit=1000&query={QUERY}")
    return {item["id"]: item for item in page["items"]}


def _revisions(alerting: AlertingProcess, id_: str) -> list[Record]:
    """The revisions served of one episode, page by page, oldest first."""
    items = alerting.items(f"/v1/episodes/{id_}/revisions?limit=9")
    return [{name: item[name] for name in item if name != "stored_at_us"} for item in items]
