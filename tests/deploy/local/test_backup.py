"""A system is lost and restored on another machine: other folder, other ports; it answers as the one before."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deploy.host.machine import ROOT, LocalError
from deploy.local.backup import back_up, open_backup, put_back
from deploy.local.layout import Layout
from deploy.local.system import System
from tests.integration.topics import detections_of
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.night]

WITHIN_S = 60.0
OWN = {
    "COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true",  # a test's webhook is on this machine
    "COINCIDE_ALERTING_REQUIRE_KEYS": "true",
    "COINCIDE_INGEST_REQUIRE_KEYS": "true",
    "COINCIDE_FUSION_QUIET_S": "null",  # an area waits for its second microphone for as long as a restore takes
}
QUERY = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 0.1, "threshold": 0.7}],  # pairs 0.1 s apart reach 0.5
    "sensors": "different",
    "alert": {"title": "Heard in {area}", "to": ["told"], "max_per_hour": 1000, "resolve_after_s": 3600},
}
ANY_VERSION = {"If-Match": "*"}
Items = list[dict[str, Any]]


@contextmanager
def running(folder: Path) -> Iterator[System]:
    system = System(Layout.isolated(folder, OWN))
    try:
        yield system
    finally:
        system.down()


def is_known(client: httpx2.Client) -> bool:
    """Whether the key is taken; a component follows the topic of keys."""
    return client.get("/v1/keys").status_code != 401


def sign_in(system: System, key: str) -> None:
    for client in (system.ingest, system.alerting):
        client.headers["Authorization"] = f"Bearer {key}"
        until(partial(is_known, client))


def new_key(system: System) -> str:
    command = [sys.executable, "-m", "services.common.access", "--kafka", system.layout.bootstrap]
    made = subprocess.run(
        [*command, "create", "--scope", "admin"], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


SECONDS = itertools.count(time.time_ns() // 1_000_000_000 - 600)
"""When something is heard: each second once, so that nothing matches but what belongs together."""


def post(
    system: System, area: str, name: str, which: str = "ab", at_s: int | None = None, *, apart_us: int = 100_000
) -> int:
    """Post what microphones of ``area`` hear one after the other; return in which second."""
    at_s = next(SECONDS) if at_s is None else at_s
    heard = [
        {"sensor": f"{area}-{each}", "detected_at": at_s * 1_000_000 + "ab".index(each) * apart_us, "id": name}
        for each in which
    ]
    assert system.ingest.post("/v1/detections", json=heard).status_code == 202
    return at_s


def items(system: System, path: str) -> Items:
    found: Items = (
        system.alerting.get(path, params={"query": "heard", "limit": 1000}).raise_for_status().json()["items"]
    )
    return found


def names_of(matches: Items) -> dict[str, str]:
    """The id of each match, by what was heard."""
    return {match["members"][0]["id"]: match["id"] for match in matches}


def prepare(system: System, sink: Sink) -> None:
    for area in ("quay", "pier"):
        for each in "ab":
            sensor = {"area": area, "streams": {"noise": {"uniform": [-0.1, 0.1]}}}
            assert system.ingest.put(f"/v1/sensors/{area}-{each}", json=sensor).status_code == 201
    receiver = {"webhook": {"url": sink.url, "secret": SECRET}, "system": False}
    assert system.alerting.put("/v1/receivers/told", json=receiver).status_code == 201
    assert system.alerting.put("/v1/queries/heard", json=QUERY).status_code == 201


def acknowledge(system: System) -> str:
    alert: str = items(system, "/v1/alerts")[0]["id"]
    said = system.alerting.post(f"/v1/alerts/{alert}/acknowledge", json={"by": "ann", "why": "the crane"})
    assert said.status_code == 200, said.text
    return alert


@contextmanager
def posting(system: System) -> Iterator[None]:
    """Post pairs in the background while the block runs."""
    ended, posted = threading.Event(), threading.Event()

    def go_on() -> None:
        n = 0
        while not ended.wait(0.05):
            post(system, "quay", f"meanwhile {n}")
            posted.set()
            n += 1

    poster = threading.Thread(target=go_on)
    poster.start()
    assert posted.wait(WITHIN_S)
    yield
    ended.set()
    poster.join()


@dataclass(frozen=True)
class Past:
    """What the first system was asked before it was lost."""

    key: str
    began_s: int  # when a detection came that waits for its match
    acknowledged: str  # an alert
    told: list[tuple[str, str]]  # which alerts' changes receivers had heard of before the backup began


UNMATCHED = {"before the change", "both lives"}


def live(system: System, sink: Sink) -> Past:
    """Use a new system: a key, sensors, a query whose threshold changes, an alert that somebody takes over."""
    system.up()
    key = new_key(system)
    sign_in(system, key)
    prepare(system, sink)
    post(system, "quay", "before the change")  # of no use at a threshold of 0.7, and never again
    began_s = post(system, "pier", "both lives", "a")
    post(system, "quay", "at once", apart_us=0)
    until(lambda: names_of(items(system, "/v1/matches")).keys() == {"at once"})
    change = "/v1/queries/heard/threshold"
    assert system.alerting.patch(change, json={"threshold": 0.3}, headers=ANY_VERSION).json()["version"] == 2
    moved = system.ingest.patch("/v1/sensors/quay-a", json={"model": "M 7"}, headers=ANY_VERSION)
    assert moved.status_code == 200, moved.text
    for n in range(3):
        post(system, "quay", f"told {n}")
    until(lambda: len(sink.told()) >= 4)
    alert = acknowledge(system)
    until(lambda: "acknowledged" in sink.told(alert))
    return Past(key, began_s, alert, changes_told(sink))


def changes_told(sink: Sink) -> list[tuple[str, str]]:
    return [(each["subject"], each["type"]) for each in sink.events]


@dataclass(frozen=True)
class Answers:
    """What a system answers."""

    matches: dict[str, str]
    versions: object
    sensor: tuple[object, str]


def answers_of(system: System) -> Answers:
    sensor = system.ingest.get("/v1/sensors/quay-a")
    said = {name: each for name, each in sensor.json().items() if name != "health"}  # of which it goes on to hear
    versions = system.alerting.get("/v1/queries/heard/versions").json()
    return Answers(names_of(items(system, "/v1/matches")), versions, (said, sensor.headers["etag"]))


def when_all_is_matched(system: System) -> Answers:
    """What it answers once everything that it has been sent, and that it should match, has its match."""
    posted = {each["id"] for each in detections_of(system.layout.bootstrap)} - UNMATCHED
    until(lambda: names_of(items(system, "/v1/matches")).keys() >= posted)
    answers = answers_of(system)
    assert answers.matches.keys() == posted
    return answers


def test_a_restored_system_answers_as_the_one_that_was_backed_up(tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    with running_sink() as sink:
        with running(tmp_path / "first") as first:
            past = live(first, sink)
            with posting(first):
                manifest = back_up(first, backup)
            assert manifest.checkpoint is not None
            with pytest.raises(LocalError, match="the system runs: stop it with `make down`"):
                put_back(backup, manifest, first)
            before = when_all_is_matched(first)

        with running(tmp_path / "second") as second:
            put_back(backup, open_backup(backup), second)
            with pytest.raises(LocalError, match="there is a system already, in "):
                put_back(backup, manifest, second)
            second.up()
            sign_in(second, past.key)
            after = when_all_is_matched(second)
            assert {"at once", "told 0", "told 1", "told 2", "meanwhile 0"} <= after.matches.keys()
            assert after.matches.items() <= before.matches.items()
            assert (after.versions, after.sensor) == (before.versions, before.sensor)

            post(second, "pier", "both lives", "b", past.began_s)
            post(second, "quay", "after")
            new = {"both lives", "after"}
            until(lambda: new <= names_of(items(second, "/v1/matches")).keys())
            ids = {id_ for name, id_ in names_of(items(second, "/v1/matches")).items() if name in new}
            until(lambda: ids <= {each["data"]["source"] for each in sink.events})
            states = {each["id"]: each["state"] for each in items(second, "/v1/alerts")}
            assert states[past.acknowledged] == "acknowledged"
            told = changes_told(sink)
            assert [each for each in past.told if told.count(each) > 1] == []


def test_a_backup_needs_a_system_that_runs_and_an_empty_one_to_go_to(tmp_path: Path) -> None:
    system = System(Layout.isolated(tmp_path / "none"))
    with pytest.raises(LocalError, match=r"^the system does not run: start it with `make up`"):
        back_up(system, tmp_path / "backup")
    with pytest.raises(LocalError, match=r"^there is no backup in "):
        open_backup(tmp_path / "backup")
