"""Runs in words: what was asked, how far it has come, and where it leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

import httpx2

from services.console.pages.number_words import counted, exact
from services.console.pages.time_words import TimeWords, duration
from services.console.rest.run_answers import (
    AnyRunAnswer,
    LearningAnswer,
    LearningRequestAnswer,
    RunAnswer,
    RunRequestAnswer,
)
from services.console.rest.services import UNFIT, RestError

PATH, LEARNING_PATH = "/v1/history-runs", "/v1/learning-runs"
STATES = {"queued": "waits", "running": "at work", "done": "done", "cancelled": "cancelled", "failed": "failed"}


R = TypeVar("R", RunAnswer, LearningAnswer)


@dataclass(frozen=True)
class RunKind(Generic[R]):
    """Runs of one kind: where they are asked for, and what a list says of them."""

    title: str
    path: str
    parameter: str  # of the page's address, that names one
    columns: tuple[str, str]  # above what was asked, and what came out
    none: str  # where there is none,
    what_to_do: str  # and what to do then
    name: Callable[[R], str]
    asked: Callable[[R], str]
    found: Callable[[R], str]
    exact: Callable[[R], str]

    def address(self, run: str) -> str:
        """Return the address of the page with a run."""
        return f"/history?{urlencode({self.parameter: run})}"


def address_of(run: str, other: str | None = None) -> str:
    """Return the address of the page with a run, and maybe another one beside it."""
    return f"/history?{urlencode({'run': run, **({'with': other} if other else {})})}"


def kind_of(request: RunRequestAnswer) -> str:
    """Return how the past was asked."""
    kind = "as live" if request.as_live else "complete"
    slides = "" if request.slides is None else f", {counted(request.slides, 'time slide')}"
    return f"{kind}, from the {request.source}" + ("" if request.keeps_matches else ", counted only") + slides


def range_of(request: RunRequestAnswer | LearningRequestAnswer, times: TimeWords) -> str:
    """Return which time was asked of."""
    span = duration((request.to_us - request.from_us) / 1e6)
    return f"{times.instant(request.from_us)} to {times.instant(request.to_us)} ({span})"


def exact_range_of(request: RunRequestAnswer | LearningRequestAnswer, times: TimeWords) -> str:
    """Return which time was asked of, to the microsecond."""
    return f"{times.exact(request.from_us)} to {times.exact(request.to_us)}"


def no_such_run(error: RestError) -> str:
    """Return what the page says where the run that it names is none; empty where something else is wrong."""
    is_none = error.status in {httpx2.codes.NOT_FOUND, UNFIT}
    return "There is no such run: it was removed, or the address is wrong." if is_none else ""


def state_of(run: AnyRunAnswer) -> str:
    """Return how far it has come."""
    state = STATES.get(run.state, run.state)
    return f"{state}, {run.progress:.0%}" if run.state == "running" else state


def found_by(run: RunAnswer) -> str:
    """Return what it found."""
    if run.matches is None:
        return ""
    episodes = "" if run.episodes is None else f" in {counted(run.episodes, 'episode')}"
    return counted(run.matches, "match", "matches") + episodes


def no_numbers_of(run: RunAnswer) -> str:
    """Return how many values could not be compared, as a sentence; none if all could."""
    are = counted(run.no_number, "value is no number", "values are no numbers")
    return f"{are}, where the query needs one." if run.no_number else ""


def exact_counts(run: RunAnswer) -> str:
    """Return what it looked at and found, as it is."""
    return exact({"detections": run.detections, "matches": run.matches, "episodes": run.episodes})


def reference_of(run: LearningAnswer) -> str:
    """Return what is taken to be right."""
    stream = run.request.reference_stream
    return "what the sensors say together" if stream is None else f"the stream {stream}"


def learning_of(run: LearningAnswer) -> str:
    """Return what is learnt, and how great its errors may be."""
    request = run.request
    streams = "all streams" if request.streams is None else ", ".join(request.streams)
    area = "all areas" if request.area is None else request.area
    return f"{streams} in {area}, errors from {request.lo_s:g} to {request.hi_s:g} s"


def learnt_by(run: LearningAnswer) -> str:
    """Return how much it learnt and proposed."""
    if run.templates is None:
        return ""
    return f"{counted(run.templates, 'template')}, {run.proposed or 0} proposed"


def exact_learnt(run: LearningAnswer) -> str:
    """Return what it looked at and learnt, as it is."""
    return exact({"detections": run.detections, "sensors and streams": run.looked_at, "templates": run.templates})


OF_QUERIES = RunKind[RunAnswer](
    "Runs",
    PATH,
    "run",
    ("Query", "Found"),
    "No run yet",
    "Ask for a run to see what a query would have found, or what it did find.",
    lambda run: run.request.query_id,
    lambda run: kind_of(run.request),
    found_by,
    exact_counts,
)
OF_LEARNING = RunKind[LearningAnswer](
    "Learning",
    LEARNING_PATH,
    "learning",
    ("Taken to be right", "Learnt"),
    "Nothing learnt yet",
    "Learn templates from what was detected; they wait until somebody accepts them.",
    reference_of,
    learning_of,
    learnt_by,
    exact_learnt,
)
