"""Back up and restore everything: ``python -m services.backup save FOLDER``; ``make backup`` does it, too.

Kafka and the database are those of alerting's settings; with ``--log FILE`` they are those of a line in one process.
"""

import argparse
import os
import sys
from pathlib import Path

from services.alerting.settings import AlertingSettings
from services.backup.database import database_beside
from services.backup.exact_logs import FilePlace, KafkaPlace
from services.backup.folder import BackupError, in_words, opened
from services.backup.whole import SystemPlaces, restore, save
from services.common.program.skeleton import exit_status
from services.common.settings import CONFIG_VARIABLE, load_settings, located
from services.common.topics.topics_file import load_topics


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    given = _parser().parse_args(arguments)
    return exit_status("backup", lambda: _run(given), BackupError)


def _run(given: argparse.Namespace) -> None:
    manifest = save(_places(given), given.folder) if given.command == "save" else opened(given.folder)
    goes_on = restore(given.folder, manifest, _places(given)) if given.command == "restore" else True
    sys.stdout.write(f"{in_words(manifest)}\n")
    if not goes_on and given.log is not None:
        sys.stdout.write("The engine begins anew from the detections and queries of the backup.\n")
    elif not goes_on:
        sys.stdout.write("There is no checkpoint: let fusion begin anew (docs/how-to/rebuild.md).\n")


def _places(given: argparse.Namespace) -> SystemPlaces:
    settings = load_settings(AlertingSettings, Path("config/alerting.yaml"), os.environ)
    own = os.environ.get(CONFIG_VARIABLE)
    database = settings.database_url if given.log is None else f"sqlite:///{database_beside(given.log)}"
    return SystemPlaces(
        KafkaPlace(settings.kafka) if given.log is None else FilePlace(given.log, is_new=given.command == "restore"),
        load_topics(located(Path("config/topics.yaml"), os.environ), settings.topic_names),
        settings.topic_names,
        None if given.no_database else database,
        given.checkpoint,
        Path(own) if own else None,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.backup", description="Back up and restore everything.")
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "save": "write a backup of a running system into a new folder",
        "restore": "put a backup into a system that has nothing yet and of which at most Kafka runs",
        "check": "say whether a backup is whole",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("folder", type=Path)
        if name != "check":
            of_engine = command.add_mutually_exclusive_group()
            of_engine.add_argument("--checkpoint", type=Path, metavar="PATH", help="folder of fusion's checkpoint")
            of_engine.add_argument("--log", type=Path, metavar="FILE", help="log of a line in one process, not Kafka")
            command.add_argument("--no-database", action="store_true", help="leave out the database of alerting")
    return parser


if __name__ == "__main__":
    sys.exit(main())
