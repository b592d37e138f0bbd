"""`python -m services.console`: run the console."""

import argparse
import logging
import os
import sys
from pathlib import Path

from services.common.operations import configure_logs
from services.common.settings import SettingsError, load_settings
from services.console.server import build_server
from services.console.settings import ConsoleSettings


def main(arguments: list[str] | None = None) -> int:
    """Run until told to stop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m services.console", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config/console.yaml"), help="settings (YAML)")
    try:
        settings = load_settings(ConsoleSettings, parser.parse_args(arguments).config, os.environ)
        server = build_server(settings)
    except SettingsError as error:
        print(f"the console cannot start: {error}", file=sys.stderr)  # noqa: T201 - before there are logs
        return 1
    configure_logs(settings.log_level)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line for each request would hide all others
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
