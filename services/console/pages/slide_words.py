"""Time slides in words: what they say of chance, beside the formula."""

from __future__ import annotations

from collections.abc import Iterator

from services.console.pages.number_words import amount, counted, exact
from services.console.rest.run_answers import CurvePointAnswer, RunAnswer, SlidesAnswer


def chance_by_slides(run: RunAnswer) -> str:
    """Return what time slides say of chance, or why they say nothing; "" where nobody asked them."""
    if run.slides is not None:
        return " ".join(_sentences(run.slides, _at_own_threshold(run)))
    return f"{run.slides_unknown[:1].upper()}{run.slides_unknown[1:]}." if run.slides_unknown else ""


def exact_slides(run: RunAnswer) -> str:
    """Return the figures of time slides as the run has them."""
    if run.slides is None:
        return ""
    low, high = run.slides.interval_per_day
    return exact({"by chance": run.slides.chance, "a day": run.slides.chance_per_day, "at least": low, "at most": high})


def _sentences(found: SlidesAnswer, own: CurvePointAnswer | None) -> Iterator[str]:
    slides, (low, high) = counted(found.slides, "time slide"), found.interval
    give = "gives" if found.slides == 1 else "give"
    matches = f"{amount(found.chance)} {'match' if found.chance == 1 else 'matches'} by chance"
    yield f"At the query's own threshold {slides} {give} {matches}, {_between(low, high)} with 90 %{_formula(own)}."
    yield f"That is {amount(found.chance_per_day)} a day of recorded time, {_between(*found.interval_per_day)}."
    if found.slides_overlap:
        yield "The range is short for so many slides: the interval is rather too narrow."
    if found.areas_left_out:
        yield f"{counted(found.areas_left_out, 'area was', 'areas were')} recorded for too short a time, and left out."


def _between(low: float, high: float) -> str:
    return f"{amount(low)} to {amount(high)}"


def _formula(own: CurvePointAnswer | None) -> str:
    if own is None or own.chance is None:
        return ""
    return f"; the formula gives {'at most ' if own.chance_is_upper_bound else ''}{amount(own.chance)}"


def _at_own_threshold(run: RunAnswer) -> CurvePointAnswer | None:
    return next((each for each in run.curve if each.threshold == run.own_threshold), None)
