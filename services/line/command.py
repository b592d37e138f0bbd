"""The command ``coincide serve``: its options, which ``coincide --help`` reads without what serving needs."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from services.common.shipped_config import SHIPPED_CONFIG

MISUSED = 2
DEFAULT_FOLDER, DEFAULT_PORT = Path("coincide-line"), 8000


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to those of a parser, and return its own parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "serve",
        help="the whole line in one process: detections in, matches and the console out",
        description="Run ingest, the engine, alerting and the console in one process, at one address.",
        epilog=f"Without --config: a folder config/ here, if there is one, else what is shipped ({SHIPPED_CONFIG}). "
        "Files that the folder does not have are as shipped.",
    )
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="where all is kept (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port; 0: a free one (default: %(default)s)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--config", type=Path, help="folder with the files of settings, as in config/")
    chosen.add_argument(
        "--demo", action="store_true", help="show the neutrinos of 1987 and a harbour of now, as configured for it"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve until told to stop; return the exit status."""
    status: int = needing_extra("serve", "services.line.program").serve(options)
    return status


def needing_extra(command: str, module: str) -> Any:
    """Return a module that the extra brings; where it is missing, say so and exit."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in {"coincide", "services"}:
            raise
        sys.stderr.write(f"coincide {command}: it needs {error.name}: pip install 'coincide[serve]'\n")
        raise SystemExit(MISUSED) from None


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port}: 0 to 65535 is allowed")
    return port
