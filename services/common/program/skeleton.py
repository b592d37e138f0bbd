"""The skeleton of a program: its options and settings, its logs, and how it exits where it cannot do its work."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from kafka.errors import KafkaError

from services.common.kafka.faults import KafkaRefusedError, may_pass, refusal_of
from services.common.operations import configure_logs
from services.common.program.asgi_server import AsgiServer
from services.common.settings import ListeningSettings, SettingsError, load_settings

REFUSED = os.EX_CONFIG  # 78: a person must change something, so a process runner need not try again
AWAY = os.EX_TEMPFAIL  # 75: Kafka may come back, so that a script may try again

S = TypeVar("S", bound=ListeningSettings)


def parser_of(module: str, description: str, config: Path) -> argparse.ArgumentParser:
    """Return the parser of ``python -m module``, which takes a file of settings."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--config", type=Path, default=config, help="file of settings, YAML (default: %(default)s)")
    return parser


def settings_of(model: type[S], given: argparse.Namespace) -> S:
    """Return the settings, and log as they say; an option that is called as a field wins. Raises `SettingsError`."""
    settings = load_settings(model, given.config, os.environ)
    chosen = {name: value for name in model.model_fields if (value := getattr(given, name, None)) is not None}
    configure_logs(settings.log_level)
    return settings.model_copy(update=chosen)


def exit_status(name: str, run: Callable[[], int | None], *faults: type[Exception]) -> int:
    """Do ``run``, and return the exit status that it gives, 0 if none.

    After one sentence on standard error that is `REFUSED` where a setting cannot work, and after one of ``faults``
    `AWAY` if it may pass, else 1.
    """
    expected: tuple[type[Exception], ...] = (SettingsError, *faults)
    try:
        return run() or 0
    except expected as error:
        sys.stderr.write(f"{name}: {_sentence_of(error)}\n")
        return REFUSED if isinstance(error, SettingsError) else AWAY if may_pass(error) else 1


def _sentence_of(error: Exception) -> str:
    """Return what an error says; the words of Kafka's client say little where Kafka refuses."""
    of_client = isinstance(error, KafkaError) and not isinstance(error, KafkaRefusedError)
    return (refusal_of(error) if of_client else None) or str(error)


def run_service(
    name: str,
    description: str,
    model: type[S],
    build_server: Callable[[S], AsgiServer],
    arguments: Sequence[str] | None,
) -> int:
    """Serve until told to stop; return the exit status."""
    given = parser_of(f"services.{name}", description, Path(f"config/{name}.yaml")).parse_args(arguments)

    def serve() -> int:
        server = build_server(settings_of(model, given))
        server.run()
        return server.status

    return exit_status(name, serve)
