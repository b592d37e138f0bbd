"""The line in one process: ``python -m services.line --folder DIR --config DIR --port N``."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from services.common.local_log.local_log import LocalLog
from services.common.log.faults import LogError
from services.common.operations import configure_logs
from services.common.program.skeleton import exit_status
from services.line.growing.folder_lock import served
from services.line.server import build_server
from services.line.settings import line_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    given = _parser().parse_args(arguments)
    return exit_status("coincide serve", lambda: _serve(given), LogError)


def _serve(given: argparse.Namespace) -> int:
    given.folder.mkdir(parents=True, exist_ok=True)
    settings = line_settings(given.folder, given.config, (given.host, given.port), os.environ)
    configure_logs(settings.ingest.log_level)
    with served(given.folder):
        log = LocalLog(settings.log_path)
        try:
            server = build_server(settings, log)
            server.run()
            return server.status
        finally:
            log.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="coincide serve", description="Run the whole line in one process.")
    parser.add_argument("--folder", type=Path, default=Path(".local/line"), help="where all of it is kept")
    parser.add_argument("--config", type=Path, default=Path("config"), help="folder of the files of settings")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    return parser


if __name__ == "__main__":
    sys.exit(main())
