"""`python -m services.alerting`: run the alerting service."""

import argparse
import os
import sys
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from services.alerting.server import build_server
from services.alerting.settings import AlertingSettings
from services.common.operations import configure_logs
from services.common.settings import SettingsError, load_settings


def main(arguments: list[str] | None = None) -> int:
    """Run until told to stop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m services.alerting", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config/alerting.yaml"), help="settings (YAML)")
    os.umask(0o077)  # a database of SQLite holds receivers' secrets
    try:
        settings = load_settings(AlertingSettings, parser.parse_args(arguments).config, os.environ)
        server = build_server(settings)
    except (SettingsError, SQLAlchemyError, ValueError, OSError) as error:
        print(f"alerting cannot start: {error}", file=sys.stderr)  # noqa: T201 - before there are logs
        return 1
    configure_logs(settings.log_level)
    server.run()
    return server.status


if __name__ == "__main__":
    sys.exit(main())
