"""Run alerting: ``python -m services.alerting --config config/alerting.yaml``."""

import os
import sys
from collections.abc import Sequence

from services.alerting.server import build_server
from services.alerting.settings import AlertingSettings
from services.common.program.skeleton import run_service


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    os.umask(0o077)  # a database of SQLite holds receivers' secrets
    return run_service("alerting", "Serve matches, and tell people.", AlertingSettings, build_server, arguments)


if __name__ == "__main__":
    sys.exit(main())
