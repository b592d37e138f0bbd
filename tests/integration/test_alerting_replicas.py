"""Two alerting processes on one real PostgreSQL: one writes, both serve, and each takes over from the other."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from deploy.local.broker import Broker
from services.alerting.records.records import Topics
from tests.integration.service_process import AlertingProcess, LiveReader, metric, running_alerting
from tests.integration.topics import OwnTopics
from tests.patience import until
from tests.postgresql import running_server
from tests.services.alerting.sample_records import match, query

pytestmark = pytest.mark.jvm

TOPICS = Topics()


@pytest.fixture(scope="module")
def topics(kafka: Broker) -> OwnTopics:
    return OwnTopics.create(kafka, "replicas.")


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with running_server() as server:
        yield server.url(server.create())


Start = Callable[[], AlertingProcess]


@pytest.fixture
def start(topics: OwnTopics, database_url: str, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as running:

        def start() -> AlertingProcess:
            process = running_alerting(topics.bootstrap, tmp_path, database_url=database_url, **topics.settings)
            alerting = running.enter_context(process)
            alerting.wait_for("/readyz", 200)
            return alerting

        yield start


class Matches:
    """Writes matches, and asks everybody whether they have exactly these, each once and in this order."""

    def __init__(self, topics: OwnTopics) -> None:
        self._topics = topics
        self.ids: list[str] = []
        self.reader = LiveReader("kind=matches", last_event_id="0")

    def write(self, count: int) -> None:
        new = [f"m-{len(self.ids) + n}" for n in range(count)]
        self._topics.send(TOPICS.matches, [(b"bay", match(id_)) for id_ in new])
        self.ids += new

    def are_served_by(self, *processes: AlertingProcess) -> None:
        """Wait until each lists them, and read the live stream on in each in turn."""
        for alerting in processes:
            self.reader.read(alerting.url, until=lambda events: len(events) >= len(self.ids))
            assert [event.data["id"] for event in self.reader.events] == self.ids
            until(partial(self._are_listed_by, alerting))

    def _are_listed_by(self, alerting: AlertingProcess) -> bool:
        return [each["id"] for each in alerting.items("/v1/matches", limit=1000)] == self.ids


def writes(alerting: AlertingProcess) -> float:
    return metric(alerting.url, "coincide_alerting_writes") or 0.0


def inserted(alerting: AlertingProcess) -> float:
    return metric(alerting.url, 'coincide_alerting_records_inserted_total{topic="replicas.matches"}') or 0.0


def test_either_serves_and_takes_over_from_the_other(topics: OwnTopics, start: Start) -> None:
    """One story, because every start of a process takes seconds."""
    first, second = start(), start()
    assert (first.get("/readyz")["writes"], second.get("/readyz")["writes"]) == (True, False)
    matches = Matches(topics)
    matches.write(20)
    matches.are_served_by(second, first)
    _change_through(second, shown_by=first)

    os.kill(first.process.pid, signal.SIGKILL)
    matches.write(20)
    second.wait_for(f"/v1/matches/{matches.ids[-1]}", 200)
    matches.are_served_by(second)
    first = start()
    assert (writes(first), writes(second)) == (0, 1)

    stored = inserted(second)
    second.suspend()
    matches.write(20)
    first.wait_for(f"/v1/matches/{matches.ids[-1]}", 200)
    second.process.resume()
    until(lambda: writes(second) == 0)
    matches.write(20)
    matches.are_served_by(second, first)
    assert (writes(first), writes(second)) == (1, 0)
    assert inserted(second) == stored  # who was suspended has written nothing since
    _change_through(second, shown_by=first)

    assert first.stop() == 0  # one that ends in order hands over at once
    matches.write(20)
    matches.are_served_by(second)
    assert writes(second) == 1


def _change_through(standby: AlertingProcess, shown_by: AlertingProcess) -> None:
    """Change a query and a receiver, see that the answer waits for the database, and that the other process has it."""
    put = standby.call("PUT", "/v1/queries/shared", json=query("shared"), headers={"If-Match": "*"})
    if put.status_code == 412:  # there is none yet
        put = standby.call("PUT", "/v1/queries/shared", json=query("shared"))
    etag = {"If-Match": put.headers["etag"]}
    changed = standby.call("PATCH", "/v1/queries/shared/threshold", json={"threshold": 0.123}, headers=etag)
    assert changed.status_code == 200, changed.text
    for alerting in (standby, shown_by):
        shown = alerting.get("/v1/queries/shared")
        assert (shown["version"], shown["query"]["within"][0]["threshold"]) == (changed.json()["version"], 0.123)
    back = shown_by.call("PUT", "/v1/queries/shared", json=query("shared"), headers={"If-Match": "*"})
    assert (back.status_code, back.json()["version"]) == (200, changed.json()["version"] + 1)
    until(lambda: standby.get("/v1/queries/shared")["version"] == back.json()["version"])
    receiver = {"webhook": {"url": "https://example.com/hook", "secret": "whsec_" + "c2VjcmV0" * 4}}
    answer = standby.call("PUT", "/v1/receivers/pager", json=receiver, headers={"If-Match": "*"})
    if answer.status_code == 412:  # there is none yet
        answer = standby.call("PUT", "/v1/receivers/pager", json=receiver)
    assert answer.status_code in (200, 201), answer.text
    assert [each["id"] for each in standby.get("/v1/receivers")["items"]].count("pager") == 1
    until(lambda: [each["id"] for each in shown_by.get("/v1/receivers")["items"]].count("pager") == 1)
