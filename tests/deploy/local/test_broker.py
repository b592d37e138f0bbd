"""The broker as tests and the local system use it: it waits for room, and says when it answers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.local.broker import ROOM_BYTES, Broker, answers, wait_for_room
from tests.deploy.test_shell_scripts import broker_answers


def test_a_start_waits_until_the_disk_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Path] = []

    def usage(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(free=len(asked) << 22)

    monkeypatch.setattr("deploy.local.broker.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("shutil.disk_usage", usage)
    wait_for_room(tmp_path / "not" / "yet")
    assert asked == [tmp_path] * (ROOM_BYTES >> 22)
    assert capsys.readouterr().out == f"Kafka starts once the disk of {tmp_path} has 32 MB left\n"


@pytest.mark.jvm
@pytest.mark.kills
def test_a_suspended_broker_answers_nobody_until_it_is_resumed(kafka: Broker) -> None:
    port = int(kafka.bootstrap.rsplit(":", 1)[1])
    kafka.suspend()
    try:
        assert not answers(kafka.bootstrap)
        assert not broker_answers(port, within_s=3)  # the health check of the containers
        assert kafka.is_running
    finally:
        kafka.resume()
    assert answers(kafka.bootstrap)
    assert broker_answers(port)
