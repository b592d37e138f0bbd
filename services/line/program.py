"""From the options of ``coincide serve`` to a line that serves, and to its end."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from services.common.access.keys_topic import present_keys
from services.common.local_log.local_log import LocalLog
from services.common.log.faults import LogError
from services.common.operations import configure_logs
from services.common.program.asgi_server import AsgiServer, bound_socket
from services.common.program.skeleton import exit_status
from services.common.settings import SettingsError
from services.common.shipped_config import SHIPPED_CONFIG
from services.common.topics.log_clients import LogClients
from services.line.demo_thread import DemoThread
from services.line.growing.folder_lock import served
from services.line.server import build_server
from services.line.settings import LineSettings, chosen_config, line_settings


def serve(options: argparse.Namespace) -> int:
    """Serve until told to stop; return the exit status."""
    return exit_status("coincide serve", lambda: _serve(options), LogError)


def _serve(options: argparse.Namespace) -> int:
    config = SHIPPED_CONFIG if options.demo else chosen_config(options.config, os.environ)
    with _own_folder(options.folder), closing(bound_socket(options.host, options.port)) as bound:
        address = options.host, bound.getsockname()[1]
        settings = line_settings(options.folder, config, address, os.environ)
        if options.demo and (settings.ingest.needs_key or settings.alerting.needs_key):
            raise SettingsError("--demo posts and asks without a key, and this line answers nobody without one")
        configure_logs("WARNING" if options.demo else settings.ingest.log_level)
        log = LocalLog(settings.log_path)
        try:
            return _run(build_server(settings, log), settings, log, bound, demo=options.demo)
        finally:
            log.close()


def _run(server: AsgiServer, settings: LineSettings, log: LocalLog, bound: socket.socket, *, demo: bool) -> int:
    thread = DemoThread(settings, server) if demo else None

    def tell() -> None:
        print(ready_sentence(settings), flush=True)
        if settings.ingest.needs_key and not present_keys(LogClients(log, settings.ingest.topic_names)):
            print(first_key_sentence(settings), flush=True)
        if thread:
            thread.start()

    server.when_ready = tell
    server.run(sockets=[bound])
    if thread:
        thread.stop()
    return server.status


def ready_sentence(settings: LineSettings) -> str:
    """Return what a person reads who has started it."""
    return (
        f"Coincide is at {settings.url}/. It keeps everything in {settings.folder.absolute()}. "
        f"Its configuration is {settings.config.absolute()}."
    )


def first_key_sentence(settings: LineSettings) -> str:
    """Return what a person reads who can ask nothing yet: the command that makes a key with which one may do all."""
    log = shlex.quote(str(settings.log_path.absolute()))
    command = f"{sys.executable} -m services.common.access --log {log} create --scope admin"
    return f"Every request needs a key, and there is none yet. Make the first: {command}"


@contextmanager
def _own_folder(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other processes from serving it too: two engines would tell everything twice.

    Raises `SettingsError`, also where its records went elsewhere.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(served(folder))
        except LogError as error:
            raise SettingsError(f"--folder {folder}: {error}") from error
        except OSError as error:
            raise SettingsError(f"--folder {folder}: it cannot be written into ({error.strerror})") from error
        yield
