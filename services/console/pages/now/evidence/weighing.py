"""The weighing of a match: what speaks for one event and what against it, as a waterfall, and what that comes to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from nicegui import ui

from services.console.pages.docs_link import docs_link
from services.console.pages.one_event_words import bits, one_event, why_unknown
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import probability
from services.console.pages.viewer import Viewer
from services.console.rest.evidence_answers import EvidenceAnswer

ALL_DECLARED = "How often events come, how well they are heard and how much else is reported is what the query says."
SOURCES = {
    "declared": "How often events come and are heard is what the query says.",
    "learnt": "How often events come and are heard was learnt from matches.",
}
SAME = 0.005
MOST_BITS = 1000.0  # beyond, 2 to their power is no float


@dataclass(frozen=True)
class Step:
    """One step of a waterfall, on a scale from 0 to 1: from where to where, and whether it goes up."""

    left: float
    right: float
    rises: bool


def steps_of(values: Sequence[float]) -> tuple[list[Step], float]:
    """Return a step for each value, from where the one before it ends, and one for their sum; and where 0 is."""
    ends = [0.0, *accumulate(values)]
    least = min(ends)
    scale = (max(ends) - least) or 1.0
    spans = [*pairwise(ends), (0.0, ends[-1])]
    steps = [Step((min(span) - least) / scale, (max(span) - least) / scale, span[1] >= span[0]) for span in spans]
    return steps, -least / scale


def draw_weighing(evidence: EvidenceAnswer, viewer: Viewer, event: Mapping[str, Any]) -> None:
    """Draw the terms of the evidence, where there are some, and what follows; `event` is what the query says of it."""
    if evidence.bits is None:
        return
    Words("h3", "What speaks for one event, and what against it")
    rows = [(each.sentence, each.bits) for each in evidence.terms]
    rows.append((f"Together: {probability(alone(evidence.bits))}, if no other match had these reports.", evidence.bits))
    steps, nothing = steps_of([each.bits for each in evidence.terms])
    with ui.element("ol").classes("waterfall"):
        for (words, value), step in zip(rows, steps, strict=True):
            _row(words, value, step, nothing)
    if said := shared_words(evidence):
        Words("p", said)
    with ui.element("p").classes("soft small"):
        Words(
            "span",
            f"In bits: one doubles the odds, ten make them a thousand times better. {source_of(evidence, event)} ",
        )
        docs_link(viewer, "docs/explanation/evidence.md")


def _row(words: str, value: float, step: Step, nothing: float) -> None:
    with ui.element("li"):
        Words("span", words)
        figure(bits(value), f"{value!r} bits")
        with ui.element("div").classes("waterfall-track").props("aria-hidden=true"):
            for kind, style in _parts(step, nothing):
                ui.element("div").classes(kind).style(style)


def _parts(step: Step, nothing: float) -> Iterator[tuple[str, str]]:
    """Yield the classes and the place of the bar, and of the line from which the first one begins."""
    kind = "waterfall-for" if step.rises else "waterfall-against"
    yield kind, f"left:{step.left * 100:.2f}%;width:{(step.right - step.left) * 100:.2f}%"
    yield "waterfall-nothing", f"left:{nothing * 100:.2f}%"


def alone(value: float) -> float:
    """Return the posterior that so many bits give a match by itself."""
    return 1 / (1 + math.exp2(-max(-MOST_BITS, min(MOST_BITS, value))))


def shared_words(evidence: EvidenceAnswer) -> str:
    """Say what is left if detections are shared out among matches; "" where it is the same."""
    others = "Other matches have some of these reports, too."
    if evidence.bits is None:
        return ""
    if evidence.posterior is None:
        return f"{others} How they are shared out is not known: {why_unknown(evidence)}."
    if evidence.is_exact and abs(alone(evidence.bits) - evidence.posterior) < SAME:
        return ""
    return f"{others} Over all ways to share them out, it is {one_event(evidence)}."


def source_of(evidence: EvidenceAnswer, event: Mapping[str, Any]) -> str:
    """Say where the rates are from; "" where this console does not know the source."""
    if evidence.rates == "declared" and "unpaired_per_day" in event:
        return ALL_DECLARED
    return SOURCES.get(evidence.rates, "")
