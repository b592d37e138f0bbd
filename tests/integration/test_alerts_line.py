"""From an episode on a real Kafka to a webhook, through alerting as a process, whatever is killed or lost."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.local.broker import Broker
from services.alerting.records.records import Topics
from tests.integration.fusion_process import end, fusion_job
from tests.integration.service_process import AlertingProcess, metric, running_alerting, running_ingest
from tests.integration.topics import OwnTopics
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.patience import until
from tests.postgresql import running_server
from tests.services.alerting.sample_records import episode, match, query

pytestmark = pytest.mark.jvm

TOPICS = Topics()
EDGE = {"from": {"s": "seismic", "a": "acoustic"}, "within": query()["within"]}


def now_us() -> int:
    return time.time_ns() // 1000


def receivers(folder: Path, **ways: Any) -> str:
    path = folder / "receivers.yaml"
    path.write_text(yaml.safe_dump({"receivers": ways}))
    return str(path)


def webhook(sink: Sink, **more: Any) -> dict[str, Any]:
    return {"webhook": {"url": sink.url, "secret": SECRET, **more}}


def put(alerting: AlertingProcess, id_: str, **fields: Any) -> int:
    alerting.wait_for("/readyz", 200)  # before Kafka is reached, every change is refused
    answer = alerting.call("PUT", f"/v1/queries/{id_}", json={**EDGE, **fields}, headers={"If-Match": "*"})
    if answer.status_code == 412:
        answer = alerting.call("PUT", f"/v1/queries/{id_}", json={**EDGE, **fields})
    assert answer.status_code in (200, 201), answer.text
    return int(answer.json()["version"])


@pytest.fixture(scope="module")
def topics(kafka: Broker) -> OwnTopics:
    return OwnTopics.create(kafka, "rings.")


def write(topics: OwnTopics, *records: dict[str, Any], topic: str = TOPICS.episodes) -> None:
    topics.send(topic, [(record["area"].encode(), record) for record in records])


def test_an_episode_rings_a_webhook_and_its_end_does_too(topics: OwnTopics, tmp_path: Path) -> None:
    rule = {"severity": [[0.9, "critical"], [0.4, "warning"]], "title": "Shot in {area}", "resolve_after_s": 1}
    with (
        running_sink() as sink,
        running_alerting(
            topics.bootstrap, tmp_path, receivers_path=receivers(tmp_path, ops=webhook(sink)), **topics.settings
        ) as alerting,
    ):
        alerting.wait_for("/readyz", 200)
        version = put(alerting, "rings", coalesce={"gap_s": 1}, alert=rule)
        said: dict[str, Any] = {"query": "rings", "query_version": version, "received_at_us": now_us()}
        write(topics, episode("e-rings", 1, "open", **said, best_probability=0.5))
        until(lambda: sink.told() == ["firing"])
        write(topics, episode("e-rings", 2, "open", **said, best_probability=0.95))
        until(lambda: sink.told() == ["firing", "escalated"])
        write(topics, episode("e-rings", 3, "closed", **{**said, "received_at_us": now_us()}, best_probability=0.95))
        until(lambda: sink.told() == ["firing", "escalated", "resolved"])
        until(
            lambda: alerting.deliveries_waiting() == 0
        )  # it is written down, so that the next alerting tells nothing again
        first, *_, last = sink.events
        assert first["specversion"] == "1.0"
        assert (first["data"]["title"], first["data"]["severity"]) == ("Shot in bay", "warning")
        assert (last["data"]["state"], last["data"]["severity"]) == ("resolved", "critical")
        assert sink.faults == []
        assert len(set(sink.tried)) == len(sink.tried) == 3


def test_a_match_of_a_query_that_does_not_coalesce_rings(topics: OwnTopics, tmp_path: Path) -> None:
    with (
        running_sink() as sink,
        running_alerting(
            topics.bootstrap, tmp_path, receivers_path=receivers(tmp_path, ops=webhook(sink)), **topics.settings
        ) as alerting,
    ):
        alerting.wait_for("/readyz", 200)
        version = put(alerting, "pairs", alert={"min_probability": 0.4, "members": 2, "resolve_after_s": 0.5})
        said: dict[str, Any] = {"query": "pairs", "query_version": version, "received_at_us": now_us()}
        write(topics, match("m-weak", **said | {"probability": 0.3}), match("m-good", **said), topic=TOPICS.matches)
        until(lambda: sink.told() == ["firing", "resolved"])
        until(lambda: alerting.deliveries_waiting() == 0)
        assert {each["data"]["source"] for each in sink.events} == {"m-good"}


def test_neither_a_kill_nor_a_lost_database_tells_twice(topics: OwnTopics, tmp_path: Path) -> None:
    with running_sink() as sink:
        sink.status = 500
        settings = {"receivers_path": receivers(tmp_path, ops=webhook(sink)), **topics.settings}
        with running_alerting(topics.bootstrap, tmp_path, **settings) as alerting:
            alerting.wait_for("/readyz", 200)
            version = put(alerting, "survives", coalesce={"gap_s": 1}, alert={"max_per_hour": 100})
            said: dict[str, Any] = {"query": "survives", "query_version": version}
            write(topics, *(episode(f"e-survives-{n}", 1, **said, received_at_us=now_us()) for n in range(20)))
            until(lambda: len(sink.tried) > 0)  # stored, and not taken
            alerting.kill()
        sink.status = 204
        with running_alerting(topics.bootstrap, tmp_path, **settings) as alerting:
            until(lambda: len(sink.events) == 20)
            until(lambda: alerting.deliveries_waiting() == 0)
        assert [each["data"]["source"] for each in sink.events] == [f"e-survives-{n}" for n in range(20)]
        tried = len(sink.tried)

        for file in tmp_path.glob("alerting.sqlite3*"):
            file.unlink()
        with running_alerting(topics.bootstrap, tmp_path, **settings) as alerting:
            alerting.wait_for("/readyz", 200)
            write(topics, episode("e-new", 1, **said, received_at_us=now_us()))
            until(lambda: len(sink.events) == 21)
        assert len(sink.tried) == tried + 1
        assert sink.events[-1]["data"]["source"] == "e-new"
        assert len({each["id"] for each in sink.events}) == 21


@pytest.mark.night
def test_a_line_without_fusion_rings_once_each_time_whatever_is_killed_or_lost(kafka: Broker, tmp_path: Path) -> None:
    """Ingest's heartbeats are what nobody fuses."""
    with (
        running_sink() as sink,
        fusion_job(kafka.bootstrap, "stalled.", tmp_path) as fusion,
        running_ingest(kafka.bootstrap, tmp_path, heartbeat_s=0.5, topic_prefix="stalled."),
    ):
        topics = OwnTopics(kafka.bootstrap, "stalled.")
        own = {"receivers_path": receivers(tmp_path, ops=webhook(sink)), "line_stalled_s": 10, **topics.settings}
        with running_alerting(topics.bootstrap, tmp_path, **own) as alerting:
            _wait_until_told(topics, sink, ["firing"])
            alerting.kill()
        with running_alerting(topics.bootstrap, tmp_path, **own):
            fusion.start_and_wait()
            _wait_until_told(topics, sink, ["firing", "resolved"])
            end(fusion.family())
            _wait_until_told(topics, sink, ["firing", "resolved", "reopened"])

        for file in tmp_path.glob("alerting.sqlite3*"):
            file.unlink()
        with running_alerting(topics.bootstrap, tmp_path, **own) as alerting:
            until(lambda: [each["state"] for each in alerting.items("/v1/alerts")] == ["firing"])
            until(lambda: alerting.deliveries_waiting() == 0)
    assert sink.told() == ["firing", "resolved", "reopened"]
    assert {each["data"]["source"] for each in sink.events} == {"line_stalled"}


def test_of_two_processes_on_one_database_the_other_tells_what_a_suspended_or_killed_one_has_not(
    kafka: Broker, tmp_path: Path
) -> None:
    topics = OwnTopics.create(kafka, "shared.")
    with running_sink() as sink, running_server() as server:
        own = {
            **topics.settings,
            "receivers_path": receivers(tmp_path, ops={**webhook(sink), "system": False}),
            "database_url": server.url(server.create()),
        }
        with (
            running_alerting(topics.bootstrap, tmp_path, **own) as one,
            running_alerting(topics.bootstrap, tmp_path, **own) as another,
        ):
            until(lambda: _tells(one) + _tells(another) == 1)
            first, second = sorted((one, another), key=_tells, reverse=True)
            version = put(second, "shared", coalesce={"gap_s": 1}, alert={"max_per_hour": 100, "resolve_after_s": 3600})
            said: dict[str, Any] = {"query": "shared", "query_version": version}
            suspended = [f"e-shared-{n}" for n in range(10)]
            _tell(topics, sink, second, said, suspended, first.suspend)
            first.process.resume()
            until(lambda: _delivered(first) == 4)  # with the one that it had in hand
            assert (_tells(first), _tells(second)) == (0, 1)
            assert _delivered(second) == 7
            killed = [f"e-shared-{n}" for n in range(10, 20)]
            _tell(topics, sink, first, said, killed, second.kill)
            assert _delivered(first) == 4 + 7
            until(lambda: first.deliveries_waiting() == 0)
    sources = [each["data"]["source"] for each in sink.events]
    assert list(dict.fromkeys(sources)) == [*suspended, *killed]
    assert [source for source, times in Counter(sources).items() if times == 2] == [suspended[3], killed[3]]
    assert sorted(Counter(sink.tried).values()) == [1] * 18 + [2] * 2  # in hand, and told again under the same key


def _tell(
    topics: OwnTopics,
    sink: Sink,
    stays: AlertingProcess,
    said: dict[str, Any],
    ids: list[str],
    end: Callable[[], object],
) -> None:
    """Have alerts told that were all read at once, and `end` who tells while the fourth is in hand."""
    are_stored, has_ended = threading.Event(), threading.Event()

    def hear(event: dict[str, Any]) -> None:
        if event["data"]["source"] == ids[0]:
            are_stored.wait(30)
        if event["data"]["source"] == ids[3] and not has_ended.is_set():
            has_ended.set()
            end()

    sink.on_event = hear
    write(topics, *(episode(each, 1, **said, received_at_us=now_us()) for each in ids))
    until(lambda: stays.get("/v1/receivers/ops")["waiting"] == len(ids))
    are_stored.set()
    until(lambda: {each["data"]["source"] for each in sink.events} >= set(ids))
    until(lambda: stays.get("/v1/receivers/ops")["waiting"] == 0)


def _tells(alerting: AlertingProcess) -> float:
    return metric(alerting.url, "coincide_alerting_tells_receivers") or 0.0


def _delivered(alerting: AlertingProcess) -> float | None:
    return metric(alerting.url, 'coincide_alerting_deliveries_total{outcome="delivered",receiver="ops"}')


def _wait_until_told(topics: OwnTopics, sink: Sink, changes: list[str]) -> None:
    """Wait until it is told, and written down: who is killed before that tells it once more, under the same key."""
    until(lambda: sink.told() == changes, every_s=0.05, tell=sink.told)
    until(lambda: {each["key"] for each in topics.read_all(TOPICS.deliveries)} == set(sink.tried))
