"""Run ingest: ``python -m services.ingest --config config/ingest.yaml``."""

import sys
from collections.abc import Sequence

from services.common.program.skeleton import run_service
from services.ingest.server import build_server
from services.ingest.settings import IngestSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    return run_service("ingest", "Take detections over HTTP.", IngestSettings, build_server, arguments)


if __name__ == "__main__":
    sys.exit(main())
