"""Runs in words: what was asked, how far it has come, and where it leads."""

from __future__ import annotations

from urllib.parse import urlencode

from services.console.pages.number_words import counted
from services.console.pages.time_words import TimeWords, duration
from services.console.rest.run_answers import RunAnswer, RunRequestAnswer

PATH = "/v1/history-runs"
STATES = {"queued": "waits", "running": "at work", "done": "done", "cancelled": "cancelled", "failed": "failed"}


def address_of(run: str, other: str | None = None) -> str:
    """Return the address of the page with a run, and maybe another one beside it."""
    return f"/history?{urlencode({'run': run, **({'with': other} if other else {})})}"


def kind_of(request: RunRequestAnswer) -> str:
    """Return how the past was asked."""
    kind = "as live" if request.as_live else "complete"
    return f"{kind}, from the {request.source}" + ("" if request.keeps_matches else ", counted only")


def range_of(request: RunRequestAnswer, times: TimeWords) -> str:
    """Return which time was asked of."""
    span = duration((request.to_us - request.from_us) / 1e6)
    return f"{times.instant(request.from_us)} to {times.instant(request.to_us)} ({span})"


def state_of(run: RunAnswer) -> str:
    """Return how far it has come."""
    state = STATES.get(run.state, run.state)
    return f"{state}, {run.progress:.0%}" if run.state == "running" else state


def found_by(run: RunAnswer) -> str:
    """Return what it found."""
    if run.matches is None:
        return ""
    episodes = "" if run.episodes is None else f" in {counted(run.episodes, 'episode')}"
    return counted(run.matches, "match", "matches") + episodes
