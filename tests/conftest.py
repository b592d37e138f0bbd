"""Fixtures that many tests share: one real broker and one whole system for a test session."""

from collections.abc import Iterator

import pytest

from deploy.local.broker import Broker
from deploy.local.layout import Layout
from deploy.local.machine import ROOT, free_ports
from deploy.local.system import System
from services.common.kafka import create_admin
from services.common.topics import create_topics, load_topics


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker on a free port with every declared topic; a test that stops it must start it again."""
    port, controller_port = free_ports(2)
    broker = Broker(tmp_path_factory.mktemp("kafka"), port, controller_port)
    broker.start()
    try:
        admin = create_admin(broker.bootstrap)
        create_topics(admin, load_topics(ROOT / "config" / "topics.yaml"))
        admin.close()
        yield broker
    finally:
        broker.resume()
        broker.stop()


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The whole system under its process runner, on free ports, with config/ as shipped, ready.

    Tests share it: post into an area of your own, name queries of your own, leave every process running.
    """
    whole = System(Layout.isolated(tmp_path_factory.mktemp("system")))
    whole.up()
    try:
        yield whole
    finally:
        killed = whole.down()
    assert not killed, f"did not stop in order: {killed}"
