"""Fixtures that many tests share: one real broker and one whole system for a test session."""

from collections.abc import Iterator

import pytest

from deploy.local.broker import Broker
from deploy.local.layout import Layout
from deploy.local.system import System
from tests.check import unclosed
from tests.examples import register_profiles
from tests.integration.topics import running_broker

pytest_plugins = [f"tests.check.{name}" for name in ("groups", "durations", "skips", "quarantine")]
register_profiles()


def pytest_configure(config: pytest.Config) -> None:
    unclosed.register(config)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker on a free port with every declared topic; a test that stops it must start it again."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The whole system under its process runner, on free ports, with config/ as shipped, ready.

    Tests share it: post into an area of your own, name queries of your own, leave every process running.
    """
    own = {"COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true"}  # a test's webhook is on this machine
    whole = System(Layout.isolated(tmp_path_factory.mktemp("system"), own))
    try:
        whole.up()
        yield whole
    finally:
        killed = whole.down()
    assert not killed, f"did not stop in order: {killed}"
