"""Rates of unpaired detections: the query's word, or what was counted before a match less what belongs to events."""

from __future__ import annotations

from collections.abc import Collection

from coincide.fusion.rows.rates import OTHERS, Background
from coincide.queries.joins.event_rule import EventRule


def unpaired_hz(
    background: Background | None, rule: EventRule, streams: Collection[int], stream: int, sensor: str
) -> float | None:
    """Return how often a sensor reports on a stream what no other sensor reports; None where nobody knows it.

    What the query says of it holds, whatever was counted. Else detections that belong to events are taken off: those of
    events that another sensor of the query's `streams` hears, too, as often as the query says. At least one detection
    in all the time that was watched is taken to be unpaired: nothing seen yet does not mean never.
    """
    if rule.unpaired_hz is not None or background is None:
        return rule.unpaired_hz
    counts = background.count.get(stream, {})
    if sensor not in counts and OTHERS in counts:
        return None
    counted_hz = counts.get(sensor, 0.0) / background.seconds
    others = {each for code in streams for each in background.count.get(code, {}) if each != sensor}
    paired_hz = rule.events_hz * rule.heard_by * (1.0 - (1.0 - rule.heard_by) ** len(others))
    return max(counted_hz - paired_hz, 1.0 / background.seconds)
