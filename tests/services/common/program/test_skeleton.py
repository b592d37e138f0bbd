"""How a program begins and exits, whichever it is."""

from pathlib import Path
from typing import ClassVar

import pytest
from kafka.errors import KafkaConnectionError, KafkaError, TopicAuthorizationFailedError

from services.common.kafka.faults import KafkaRefusedError
from services.common.kafka.log_faults import fault_of
from services.common.log.faults import LogError
from services.common.program.skeleton import AWAY, REFUSED, exit_status, parser_of, settings_of
from services.common.settings import ListeningSettings, Port, SettingsError


class OwnSettings(ListeningSettings):
    PREFIX: ClassVar[str] = "COINCIDE_OWN_"
    port: Port = 1
    path: Path | None = None
    master: str = "local[2]"


def test_an_option_that_is_called_as_a_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("{port: 2, path: of-the-file, master: of-the-file}")
    monkeypatch.setenv("COINCIDE_OWN_PORT", "3")
    parser = parser_of("services.own", "Do what is its own.", config)
    parser.add_argument("--master")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--other", default="which is no setting")
    settings = settings_of(OwnSettings, parser.parse_args(["--path", "given"]))
    assert (settings.port, settings.path, settings.master) == (3, Path("given"), "of-the-file")


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SettingsError("port is 70000"), REFUSED, "own: port is 70000\n"),
        (LookupError("no lock"), 1, "own: no lock\n"),
        (
            KafkaRefusedError("Kafka does not know us", "10.0.0.1:9092"),
            1,
            "own: Kafka does not know us (10.0.0.1:9092)\n",
        ),
        (KafkaConnectionError("nothing listens"), AWAY, "own: KafkaConnectionError: nothing listens\n"),
        (
            LogError("Kafka did not acknowledge in time", is_retriable=True),
            AWAY,
            "own: Kafka did not acknowledge in time\n",
        ),
        (
            fault_of(TopicAuthorizationFailedError("coincide.keys")),
            1,
            "own: Kafka does not give us the right to use a topic: coincide.keys\n",
        ),
    ],
)
def test_why_it_cannot_do_its_work_is_one_sentence(
    error: Exception, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status("own", lambda: fail(error), LookupError, KafkaError, LogError) == status
    assert capsys.readouterr().err == said


def test_a_fault_that_nobody_expects_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status("own", lambda: fail(ZeroDivisionError()), LookupError)


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (74, 74)])
def test_what_it_returns_is_its_exit_status(returned: int | None, status: int) -> None:
    assert exit_status("own", lambda: returned) == status
