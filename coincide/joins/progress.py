"""Progress: what long work calls with the share of it that is done, from 0 to 1, which never falls."""

from __future__ import annotations

from collections.abc import Callable

from coincide.errors import DetectionsError

Progress = Callable[[float], None]


def unheard(share: float) -> None:
    """Take no notice of the share that is done."""


def checked_progress(progress: Progress | None) -> Progress:
    """Return what to call; refuse what cannot be called before the work begins."""
    if progress is not None and not callable(progress):
        raise DetectionsError("progress", progress, "a function of the share that is done, or None")
    return progress or unheard
