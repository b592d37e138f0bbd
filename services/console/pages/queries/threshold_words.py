"""What a threshold gives over a run, in words: matches, chance, and which would come or go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.console.pages.number_words import exact
from services.console.pages.queries.past_runs import PastMatch
from services.console.pages.time_words import duration
from services.console.rest.run_answers import CurvePointAnswer

DAY_US = 86_400_000_000


def sentence_of(curve: Sequence[CurvePointAnswer], present: float, chosen: float, span_us: int) -> str:
    """Return what a threshold gives instead of the present one, in a sentence."""
    was, now = at_threshold(curve, present), at_threshold(curve, chosen)
    if now is None:
        return f"At {chosen:.2f}: the run does not say."
    days = span_us / DAY_US

    def daily(number: float) -> str:
        return f" ({_rounded(number / days)} a day)" if days > 1 else ""

    over = duration(span_us / 1e6)
    parts = [f"At {chosen:.2f}: {now.matches:,} {'match' if now.matches == 1 else 'matches'} in {over}"]
    parts.append(daily(now.matches))
    if was is not None and chosen != present:
        parts.append(f" instead of {was.matches:,}{daily(was.matches)}")
    if now.episodes is not None:
        parts.append(f", {now.episodes:,} {'episode' if now.episodes == 1 else 'episodes'}{daily(now.episodes)}")
    if now.chance is not None:
        parts.append(f"; by chance alone there would be {_rounded(now.chance)}")
    return "".join(parts) + "."


def exact_of(curve: Sequence[CurvePointAnswer], chosen: float, span_us: int) -> str:
    """Return the figures of a threshold as the run has them."""
    point = at_threshold(curve, chosen)
    if point is None:
        return ""
    figures = exact({"matches": point.matches, "episodes": point.episodes, "by chance": point.chance})
    return f"from threshold {point.threshold!r} on, in {span_us / 1e6!r} s: {figures}"


def _rounded(count: float) -> str:
    return f"{count:.2g}" if count < 10 else f"{float(f'{count:.2g}'):,.0f}"


def at_threshold(curve: Sequence[CurvePointAnswer], threshold: float) -> CurvePointAnswer | None:
    """Return what reaches a threshold: the point at it, or the first above it; nothing above the last one."""
    above = [each for each in curve if each.threshold >= threshold - 1e-9]
    return min(above, key=lambda each: each.threshold, default=None)


def changes(present: Sequence[PastMatch], chosen: Sequence[PastMatch], threshold: float) -> tuple[list[PastMatch], ...]:
    """Return which matches would come, and which would go, those nearest to the chosen threshold first.

    A higher threshold may bring matches, too: those that a larger match superseded, which would be none any more.
    """

    def missing(some: Sequence[PastMatch], others: Sequence[PastMatch]) -> list[PastMatch]:
        known = {each.id for each in others}
        return sorted(
            (each for each in some if each.id not in known), key=lambda each: abs(each.probability - threshold)
        )

    return missing(chosen, present), missing(present, chosen)


def threshold_of(document: dict[str, Any]) -> float | None:
    """Return the threshold that a slider moves: the joint one, else that of the edges."""
    joint = document.get("joint_threshold")
    edges = [each.get("threshold") for each in document.get("within", [])]
    known = [float(each) for each in [joint, *edges] if isinstance(each, int | float)]
    return known[0] if known else None


def count_of_thresholds(document: dict[str, Any]) -> int:
    """Return how many thresholds there are that one slider could not move together."""
    if "joint_threshold" in document:
        return 1
    return len({each.get("threshold") for each in document.get("within", [])})
