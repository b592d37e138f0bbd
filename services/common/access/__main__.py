"""Make, list and revoke keys: ``python -m services.common.access create --scope admin``.

It writes to the log itself: whoever can reach Kafka, or the file of a log, is trusted, and the first key can be made
in no other way.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from services.common.access.access_keys import ANY, KEYS, new_key
from services.common.access.audit import AuditTrail
from services.common.access.caller import command_caller
from services.common.access.key_scopes import KeyScope
from services.common.access.keys_topic import present_keys
from services.common.clock import in_rfc_3339, system_clock_us
from services.common.kafka.kafka_log import KafkaLog
from services.common.kafka_option import add_connection_option, connection_of
from services.common.local_log.local_log import LocalLog
from services.common.log.faults import LogError
from services.common.program.skeleton import exit_status
from services.common.topics.log_clients import LogClients
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import add_prefix_option

TIMEOUT_S = 10.0


class NoSuchKeyError(Exception):
    """A key that is not there, or that nobody can make."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    given = _parser().parse_args(arguments)
    return exit_status("keys", lambda: _run(given), NoSuchKeyError, LogError)


def _run(given: argparse.Namespace) -> None:
    with _clients_of(given) as clients:
        given.clients, publisher = clients, clients.records(TIMEOUT_S)
        {"create": _create, "list": _list, "revoke": _revoke}[given.command](given, publisher)


@contextmanager
def _clients_of(given: argparse.Namespace) -> Iterator[LogClients]:
    if given.log is not None and not given.log.is_file():
        raise LogError(f"there is no log {given.log}: the line that keeps it makes it when it starts first")
    kafka = connection_of(given) if given.log is None else None
    log = LocalLog(given.log) if kafka is None else KafkaLog(kafka, given.names)
    try:
        yield LogClients(log, given.names)
    except LogError as error:
        if kafka is not None and error.is_retriable:
            raise LogError(f"{error} ({kafka.servers})", is_retriable=True) from error
        raise
    finally:
        log.close()


def _create(given: argparse.Namespace, publisher: RecordPublisher) -> None:
    fields: dict[str, Any] = {name: getattr(given, name) for name in ("name", "requests_per_s")}
    fields |= {"scopes": given.scope, "areas": given.area or ANY, "sensors": given.sensor or ANY}
    who = command_caller()
    try:
        key, text = new_key(fields, who.name, system_clock_us())
    except ValueError as error:
        raise NoSuchKeyError(f"no such key can be made: {error}") from None
    if given.file is not None and given.file.exists():
        sys.stderr.write(f"{given.file} is there already: no key was made\n")
        return
    publisher.publish(KEYS, key.id.encode(), msgspec.json.encode(key))
    AuditTrail("command", publisher).note(who, "key.made", key.id, None, key.shown())
    if given.file is not None:
        with open(given.file, "x", opener=_for_owner_and_group, encoding="utf-8") as file:
            file.write(text)
        return
    sys.stderr.write(f"Key {key.id} ({key.name}), shown this once; send it as Authorization: Bearer ck_...\n")
    sys.stdout.write(f"{text}\n")


def _for_owner_and_group(name: str, flags: int) -> int:
    return os.open(name, flags, 0o640)


def _list(given: argparse.Namespace, _publisher: RecordPublisher) -> None:
    keys = sorted(present_keys(given.clients).values(), key=lambda key: key.created_at_us)
    for key in keys:
        limits = "" if key.posts is None else f", for {key.posts}"
        made = f"made {in_rfc_3339(key.created_at_us)} by {key.created_by}"
        sys.stdout.write(f"{key.id}  {key.name}: {', '.join(key.scopes)}{limits}; {made}\n")
    if not keys:
        sys.stdout.write("there is no key\n")


def _revoke(given: argparse.Namespace, publisher: RecordPublisher) -> None:
    key = present_keys(given.clients).get(given.id)
    if key is None:
        raise NoSuchKeyError(f"there is no key {given.id}: give the id, the 12 digits behind ck_")
    publisher.publish(KEYS, key.id.encode(), None)
    AuditTrail("command", publisher).note(command_caller(), "key.revoked", key.id, key.shown(), None)
    sys.stdout.write(f"Key {key.id} ({key.name}) is revoked.\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.common.access", description="Make and revoke keys.")
    add_connection_option(parser)
    add_prefix_option(parser)
    where = "the file of a line in one process, which may run meanwhile (default: the topics are in Kafka)"
    parser.add_argument("--log", type=Path, metavar="FILE", help=where)
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create", help="make a key and write its text, once")
    create.add_argument("--scope", action="append", required=True, choices=[str(each) for each in KeyScope])
    create.add_argument("--name", default=f"made {time.strftime('%Y-%m-%d')}", help="whose it is, or what for")
    create.add_argument("--area", action="append", metavar="GLOB", help="areas it may post for (default: all)")
    create.add_argument("--sensor", action="append", metavar="GLOB", help="sensors it may post for (default: all)")
    create.add_argument("--requests-per-s", type=float, default=1000.0, metavar="N", help="of each component")
    file = "write the text to this new file; if it is there already, make no key"
    create.add_argument("--file", type=Path, metavar="PATH", help=file)
    commands.add_parser("list", help="list the keys that are valid, without their texts")
    revoke = commands.add_parser("revoke", help="have a key refused everywhere from now on")
    revoke.add_argument("id", help="the key's id, the 12 digits behind ck_")
    return parser


if __name__ == "__main__":
    sys.exit(main())
