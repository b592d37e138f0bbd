"""Alerting on a real Kafka: nothing lost, nothing twice, whatever is killed."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from deploy.local.broker import Broker
from services.alerting.records.records import Topics
from services.demo.harbour import BANG
from services.demo.sn1987a import ALL_THREE, QUERIES, SUPERNOVA, TWO_OF_THREE
from tests.integration.service_process import AlertingProcess, metric, running_alerting
from tests.integration.topics import OwnTopics
from tests.patience import until
from tests.services.alerting.sample_records import dead_letter, match, query

pytestmark = pytest.mark.jvm

TOPICS = Topics()


@pytest.fixture(scope="module")
def topics(kafka: Broker) -> OwnTopics:
    """This module's own: those that alerting rebuilds its database from must hold nothing else."""
    return OwnTopics.create(kafka, "life.")


def write(topics: OwnTopics, topic: str, *values: Any) -> None:
    topics.send(topic, [(b"bay", value) for value in values])


def match_ids(alerting: AlertingProcess) -> list[str]:
    return sorted(match["id"] for match in alerting.items("/v1/matches", limit=1000))


def set_threshold(alerting: AlertingProcess, id_: str, threshold: float, etag: str) -> httpx2.Response:
    headers = {"If-Match": etag}
    return alerting.call("PATCH", f"/v1/queries/{id_}/threshold", json={"threshold": threshold}, headers=headers)


def test_the_life_of_alerting(topics: OwnTopics, tmp_path: Path) -> None:
    """One story, because every start of a process takes seconds."""
    written = [f"m-{n}" for n in range(50)]
    with running_alerting(topics.bootstrap, tmp_path, **topics.settings) as alerting:
        alerting.wait_for("/readyz", 200)
        seeded = alerting.get("/v1/queries")["items"]
        assert [(query["id"], query["version"]) for query in seeded] == [
            (id_, 1) for id_ in (BANG, *QUERIES, SUPERNOVA)
        ]

        write(topics, TOPICS.matches, *(match(id_) for id_ in written), b"no match", match("m-0"))
        write(topics, TOPICS.dead_letters, dead_letter("d-1"), b"\xff", dead_letter("d-2"))
        until(lambda: match_ids(alerting) == sorted(written))
        until(lambda: len(alerting.get("/v1/dead-letters")["items"]) == 2)

        created = alerting.call("PUT", "/v1/queries/intruder", json=query())
        assert created.status_code == 201
        assert set_threshold(alerting, "intruder", 0.7, created.headers["etag"]).json()["version"] == 2
        assert alerting.call("DELETE", "/v1/queries/sn1987a", headers={"If-Match": "*"}).status_code == 204
        alerting.kill()

    # One that supersedes a match of before the kill, and one that is still to come.
    write(topics, TOPICS.matches, match("m-50", supersedes=["m-0", "m-51"]), match("m-51"))
    written = [*written[1:], "m-50"]
    with running_alerting(
        topics.bootstrap, tmp_path, **topics.settings
    ) as alerting:  # what came meanwhile is read, and nothing twice
        alerting.wait_for("/readyz", 200)
        until(lambda: match_ids(alerting) == sorted(written))
        assert alerting.stop() == 0

    for file in tmp_path.glob("alerting.sqlite3*"):
        file.unlink()
    with running_alerting(
        topics.bootstrap, tmp_path, **topics.settings
    ) as alerting:  # a database deleted by hand comes back
        alerting.wait_for("/readyz", 200)
        assert metric(alerting.url, "coincide_alerting_database_lost_timestamp_seconds")
        queries = {each["id"]: each for each in alerting.get("/v1/queries")["items"]}
        assert queries.keys() == {
            BANG,
            "intruder",
            SUPERNOVA,
            ALL_THREE,
            TWO_OF_THREE,
        }  # what was removed is not seeded again
        assert queries["intruder"]["version"] == 2
        assert queries["intruder"]["query"]["within"][0]["threshold"] == 0.7
        until(lambda: match_ids(alerting) == sorted(written))
        assert alerting.get("/v1/matches/m-51")["superseded_by"] == "m-50"
        recreated = alerting.call("PUT", "/v1/queries/sn1987a", json=query("sn1987a"))
        assert recreated.json()["version"] == 3


def test_matches_that_kafka_deleted_before_they_were_stored_are_counted(topics: OwnTopics, tmp_path: Path) -> None:
    counted = f'coincide_alerting_records_expired_total{{topic="{topics.prefix}{TOPICS.matches}"}}'
    with running_alerting(topics.bootstrap, tmp_path, **topics.settings) as alerting:
        alerting.wait_for("/readyz", 200)
        write(topics, TOPICS.matches, match("stored"))
        until(lambda: "stored" in match_ids(alerting))
        assert alerting.stop() == 0
    write(topics, TOPICS.matches, match("gone-1"), match("gone-2"))
    topics.expire(TOPICS.matches)
    with running_alerting(topics.bootstrap, tmp_path, **topics.settings) as alerting:
        alerting.wait_for("/readyz", 200)
        until(lambda: metric(alerting.url, counted) == 2)
        write(topics, TOPICS.matches, match("stored too"))
        until(lambda: "stored too" in match_ids(alerting))
        assert metric(alerting.url, counted) == 2
