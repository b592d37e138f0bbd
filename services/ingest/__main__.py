"""Run ingest: ``python -m services.ingest --config config/ingest.yaml``."""

import argparse
import os
import sys
from pathlib import Path

from services.common.operations import configure_logs
from services.common.settings import SettingsError, load_settings
from services.ingest.server import build_server
from services.ingest.settings import IngestSettings


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; 1 and one sentence when the settings cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m services.ingest", description="Take detections over HTTP.")
    config = Path("config/ingest.yaml")
    parser.add_argument("--config", type=Path, default=config, help="settings file (default: %(default)s)")
    try:
        settings = load_settings(IngestSettings, parser.parse_args(arguments).config, os.environ)
        configure_logs(settings.log_level)
        server = build_server(settings)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    server.run()
    return server.status


if __name__ == "__main__":
    sys.exit(main())
