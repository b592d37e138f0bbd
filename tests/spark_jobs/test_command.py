"""The command as a person gives it: what cannot work ends in one sentence and exit status 1."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from services.common.program.skeleton import REFUSED
from spark_jobs.fusion import main
from spark_jobs.recovery.checkpoint import LockError


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COINCIDE_FUSION_PORT", "0")
    monkeypatch.setenv("COINCIDE_FUSION_CHECKPOINT_PATH", str(tmp_path / "checkpoint"))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SHARD", "2", "shard: there is no such setting"),
        ("SHARDS", "0", "shards is 0: a number of at least 1"),
        ("DRIVER_MEMORY", "lots", "driver_memory is 'lots': a text of the form"),
        ("STREAMS_PATH", "absent.yaml", "absent.yaml: cannot be read"),
        ("JARS_PATH", "/absent", "there is no jar in it"),
    ],
)
@pytest.mark.usefixtures("own_environment")
def test_settings_that_cannot_work(
    name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"COINCIDE_FUSION_{name}", value)
    assert main([]) == REFUSED
    said = capsys.readouterr().err
    assert said.startswith("fusion: ")
    assert said.count("\n") == 1
    assert sentence in said


@pytest.mark.usefixtures("own_environment")
def test_the_checkpoint_of_another_job(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    refused = Mock(side_effect=LockError("another fusion job is running on the checkpoint"))
    monkeypatch.setattr("spark_jobs.fusion.FusionJob.run", refused)
    assert main([]) == 1
    assert capsys.readouterr().err == "fusion: another fusion job is running on the checkpoint\n"


@pytest.mark.usefixtures("own_environment")
def test_no_java(tmp_path: Path) -> None:
    (tmp_path / "connector.jar").touch()
    without_java = {**os.environ, "COINCIDE_FUSION_JARS_PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "spark_jobs.fusion"]
    ended = subprocess.run(command, env=without_java, capture_output=True, text=True, timeout=200, check=False)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("fusion: Spark on local[2] could not be started (is there a Java?): [JAVA_GATEWAY_EXITED]")


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(option in said for option in ("--config", "--master", "--rebuild"))
