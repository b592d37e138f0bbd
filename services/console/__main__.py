"""Run the console: ``python -m services.console --config config/console.yaml``."""

import sys
from collections.abc import Sequence

from services.common.program.skeleton import run_service
from services.console.server import build_server
from services.console.settings import ConsoleSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    return run_service("console", "Show what happens, in a browser.", ConsoleSettings, build_server, arguments)


if __name__ == "__main__":
    sys.exit(main())
