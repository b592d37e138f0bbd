"""Notes: one line each to standard error, for the person who ran the command."""

from __future__ import annotations

import sys


def note(text: str) -> None:
    """Say `text`."""
    sys.stderr.write(f"coincide: {text}\n")
