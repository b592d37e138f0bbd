"""Errors of the command: what a user can put right.

::

    Exception
    ├── CommandError     the run cannot go on: one sentence for the user
    └── ValueRefused     one value of one row cannot be used
"""

from __future__ import annotations

SHOWN_CHARACTERS = 60


class CommandError(Exception):
    """What is wrong and what to do about it, in one sentence; the exit status is 1."""


class ValueRefused(ValueError):  # noqa: N818 - a verdict on one value, as ingest's Refused
    """A value that cannot be used: which column, what was given, what is allowed."""

    def __init__(self, column: str, value: object, allowed: str) -> None:
        super().__init__(f"{column}: {shown(value)}: {allowed}")


def shown(value: object) -> str:
    """Return `value` as a short text on one line.

    Examples
    --------
    >>> shown("yesterday"), shown(None)
    ("'yesterday'", 'empty')
    """
    text = "empty" if value is None or value == "" else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
