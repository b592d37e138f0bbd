"""What can keep the system from running, said in one sentence to the person at the terminal."""

import sys
from collections.abc import Callable


class LocalError(Exception):
    """The system cannot do what was asked; the message is one clear sentence and says what to do."""


def exit_with(command: Callable[[], None]) -> None:
    """Run ``command``; a `LocalError` becomes its sentence on stderr and exit status 1, Ctrl-C status 130."""
    try:
        command()
    except LocalError as error:
        sys.exit(f"coincide: {error}")
    except KeyboardInterrupt:
        sys.exit(130)  # as shells say it
