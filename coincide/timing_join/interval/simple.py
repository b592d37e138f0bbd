"""Simple timing correlation: every event held is probed."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


def simple(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Join by probing every event of the other stream that is held."""
    answer = Answer(arrivals, window, threshold)
    buffers: dict[Side, list[Event]] = {"a": [], "b": []}
    for new in arrivals:
        for other in buffers[other_side(new.side)]:
            answer.scanned += 1
            answer.probe(new, other)
        buffers[new.side].append(new)
        answer.hold(*buffers.values())
    return answer.measured()
