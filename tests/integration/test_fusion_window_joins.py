"""Queries of three roles on a real broker: a kill in the middle, and a threshold changed while detections flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.local.broker import Broker
from deploy.local.machine import wait_until
from tests.integration.fusion_process import (
    START_US,
    FusionProcess,
    acoustic,
    create_prefixed_topics,
    neutrinos,
    read_all,
    seismic,
    send,
)

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

ROLES = {"s": "seismic", "a": "acoustic", "n": "neutrino"}
ALL_THREE = {"id": "all", "from": ROLES, "form": "path", "within": [{"window_s": 2.0, "threshold": 0.6}]}
TWO_OF_THREE = {**ALL_THREE, "id": "two", "form": "clique", "joint_threshold": 0.5, "at_least": 2}


def put(query: dict[str, Any], version: int) -> tuple[bytes, bytes]:
    change = {"v": 1, "id": query["id"], "version": version, "paused": False, "changed_at_us": START_US}
    return query["id"].encode(), json.dumps({**change, "query": query}).encode()


def by_query(job: FusionProcess) -> dict[str, dict[str, dict[str, Any]]]:
    """Matches by query and id: what is written twice is written alike."""
    found: dict[str, dict[str, dict[str, Any]]] = {"all": {}, "two": {}}
    for match in read_all(job.bootstrap, job.topic("matches")):
        assert found[match["query"]].setdefault(match["id"], match) == match
    return found


def wait_for(job: FusionProcess, of_all: int, of_two: int) -> dict[str, dict[str, dict[str, Any]]]:
    def counts() -> bool:
        return {name: len(matches) for name, matches in by_query(job).items()} == {"all": of_all, "two": of_two}

    assert wait_until(counts, 90, every_s=0.5), job.tail()
    return by_query(job)


@pytest.fixture(scope="module")
def job(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FusionProcess]:
    create_prefixed_topics(kafka.bootstrap, "joins.")
    job = FusionProcess(kafka.bootstrap, "joins.", tmp_path_factory.mktemp("joins"))
    job.start_and_wait()
    yield job
    job.end()


def test_three_roles_through_a_kill_and_a_changed_threshold(job: FusionProcess) -> None:
    send(job.bootstrap, job.topic("queries"), [put(ALL_THREE, 1), put(TWO_OF_THREE, 1)])
    send(job.bootstrap, job.topic("detections"), seismic(range(10)) + acoustic(range(10)))
    of_two = wait_for(job, 0, 10)["two"]

    job.kill()
    job.start_and_wait()
    send(job.bootstrap, job.topic("detections"), neutrinos(range(5)) + acoustic(range(10)))  # acoustic once more
    found = wait_for(job, 5, 15)
    grown = [match for match in found["two"].values() if len(match["members"]) == 3]
    assert {match["supersedes"][0] for match in grown} <= of_two.keys()
    assert len({match["supersedes"][0] for match in grown}) == 5
    assert {(match["probability"], len(match["edges"])) for match in grown} == {(grown[0]["probability"], 3)}
    assert all(match["probability"] <= min(edge["probability"] for edge in match["edges"]) for match in grown)

    send(job.bootstrap, job.topic("queries"), [put({**ALL_THREE, "joint_threshold": 1.0}, 2)])
    send(job.bootstrap, job.topic("detections"), neutrinos(range(5, 10)))
    wait_for(job, 5, 20)  # sure to a second either way and half a second apart: 2 s is not certain
