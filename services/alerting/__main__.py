"""`python -m services.alerting`: run the alerting service."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from services.alerting.app import create_app
from services.alerting.settings import Settings
from services.common.logs import configure_logs
from services.common.settings import SettingsError, load_settings

GRACE_S = 5


class Server(uvicorn.Server):
    """uvicorn waits for every response before it stops: live streams, which never end, are told to."""

    def __init__(self, config: uvicorn.Config, end_live_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_live_streams = end_live_streams

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Begin to stop; called as a signal handler, in the midst of whatever the event loop does."""
        with contextlib.suppress(RuntimeError):  # no loop runs yet, or any more
            asyncio.get_running_loop().call_soon_threadsafe(self._end_live_streams)
        # Not the base class's way, which raises the signal again at the end: a stop in order is no failure.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def main(arguments: list[str] | None = None) -> int:
    """Run until told to stop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m services.alerting", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config/alerting.yaml"), help="settings (YAML)")
    try:
        settings = load_settings(Settings, parser.parse_args(arguments).config, os.environ, "COINCIDE_ALERTING_")
        app = create_app(settings)
    except (SettingsError, SQLAlchemyError, ValueError, OSError) as error:
        print(f"alerting cannot start: {error}", file=sys.stderr)  # noqa: T201 - before there are logs
        return 1
    configure_logs(settings.log_level)
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    Server(config, app.state.end_live_streams).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
