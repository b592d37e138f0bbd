"""Fixtures that many tests share: one real broker, and one whole system of each line for a test session."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.local.broker import Broker
from deploy.local.layout import Layout
from deploy.local.system import System
from services.demo.programme import applied_query, post_all, the_supernova, wait_for_matches
from services.demo.sn1987a import QUERIES, bursts, expected_matches, posts
from tests.check import unclosed
from tests.examples import register_profiles
from tests.integration.service_process import archived_rows
from tests.integration.topics import running_broker
from tests.one_process import OneProcess
from tests.patience import until

Live = dict[str, list[dict[str, Any]]]  # matches by query

pytest_plugins = [
    f"tests.check.{name}" for name in ("groups", "durations", "at_once", "skips", "quarantine", "until", "heap")
]
register_profiles()


def pytest_configure(config: pytest.Config) -> None:
    unclosed.register(config)
    # A broker of tests lives too short for Java to compile it to the utmost: without that it takes a third less.
    os.environ.setdefault("KAFKA_OPTS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker on a free port with every declared topic; a test that stops it must start it again.

    Its folder has a space, as those of people do.
    """
    with running_broker(tmp_path_factory.mktemp("a kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The whole system under its process runner, with its archive, on free ports, with config/ as shipped, ready.

    Tests share it: post into an area of your own, name queries of your own. Who stops a process is marked `kills`.
    """
    folder = tmp_path_factory.mktemp("system")
    own = {
        "COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true",  # a test's webhook is on this machine
        "COINCIDE_ARCHIVE_PATH": json.dumps(str(folder / "archive")),
        "COINCIDE_ARCHIVE_INTERVAL_S": "1",
        "COINCIDE_HISTORY_PROCESSES": "1",  # to start more takes longer than what they are asked here
    }
    whole = System(Layout.isolated(folder / "running", own))
    try:
        whole.up()
        yield whole
    finally:
        killed = whole.down()
    assert not killed, f"did not stop in order: {killed}"


@pytest.fixture(scope="session")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneProcess]:
    """The line in one process, with config/ as shipped, ready; tests share it as they share `system`."""
    line = OneProcess(tmp_path_factory.mktemp("one") / "process")
    try:
        line.up()
        yield line
    finally:
        line.down()


@pytest.fixture(scope="session")
def neutrinos(system: System) -> Live:
    """What the system says of 1987: the live matches of each of the demo's queries, once all is archived, too."""
    return live_of_1987(system)


@pytest.fixture(scope="session")
def neutrinos_in_one(one_process: OneProcess) -> Live:
    """The same in one process."""
    return live_of_1987(one_process)


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> System:
    """The line that a test is told on, by the name of its fixture: see `tests.on_lines`."""
    found: System = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def live(request: pytest.FixtureRequest, whole: System) -> Live:
    """What that line says of 1987."""
    found: Live = request.getfixturevalue("neutrinos_in_one" if isinstance(whole, OneProcess) else "neutrinos")
    return found


def live_of_1987(system: System) -> Live:
    expected = {id_: expected_matches(applied_query(system, id_)) for id_ in QUERIES}
    post_all(system)
    matches = {id_: wait_for_matches(system, id_, members) for id_, members in expected.items()}
    the_supernova(system)
    if system.layout.archives:
        posted = sum(len(body.splitlines()) for body in (*posts().values(), bursts()))
        until(lambda: archived_rows(system.layout.url("archive")) >= posted)
    return matches
