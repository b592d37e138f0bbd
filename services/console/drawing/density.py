"""Densities: when each member of a match can have happened, and when all of it did, as one small picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nicegui import ui

from services.console.rest.documents import MatchAnswer, TemplateAnswer

WIDE, LANE = 360, 26
MOST_BARS = 200


@dataclass(frozen=True)
class DensityLane:
    """One member: its name, when it was seen, and its template."""

    name: str
    seen_us: int
    template: TemplateAnswer | None


def draw_densities(
    match: MatchAnswer, lanes: list[DensityLane], onset: Sequence[tuple[int, int]], begin_us: int, end_us: int
) -> None:
    """Draw the lanes over [begin_us, end_us], with the central 90 % of the time when it occurred behind them.

    `onset`, times between which equal shares of that time lie, gives it a lane of its own below the others.
    """
    tall = LANE * (len(lanes) + (1 if onset else 0))
    scale = WIDE / max(1, end_us - begin_us)

    def x(at_us: float) -> float:
        return (at_us - begin_us) * scale

    picture = (
        ui.element("svg").classes("densities").props(f'viewBox="0 0 {WIDE} {tall}" preserveAspectRatio=none role=img')
    )
    picture.style(f"height:{tall}px")
    picture.props["aria-label"] = "When each sensor says that it happened, and when all together"
    with picture:
        if match.occurred is not None:
            left, right = x(match.occurred.p05_us), x(match.occurred.p95_us)
            _rect(left, 0, max(1.0, right - left), tall, "occurred")
            _rect(x(match.occurred.mean_us) - 0.75, 0, 1.5, tall, "occurred-mean")
        for nth, lane in enumerate(lanes):
            _lane(lane, nth * LANE + 4, x)
        if onset:
            _onset(onset, len(lanes) * LANE + 4, x)


def _onset(onset: Sequence[tuple[int, int]], y: float, x: Callable[[float], float]) -> None:
    """Draw bars of equal area: the narrower, the higher; one that is too narrow to see is as high as one of a pixel."""
    widths = [max(x(to_us) - x(from_us), 1.0) for from_us, to_us in onset]
    for (from_us, _), wide in zip(onset, widths, strict=True):
        tall = (LANE - 6) * min(widths) / wide
        _rect(x(from_us), y + LANE - 6 - tall, wide + 0.2, tall, "onset")


def _lane(lane: DensityLane, y: float, x: Callable[[float], float]) -> None:
    template = lane.template
    if template is not None and len(template.edges_s) > 1:
        edges_us = [lane.seen_us + edge * 1e6 for edge in template.edges_s]
        spans_us = [max(1.0, after - before) for before, after in pairwise(edges_us)]
        densities = [mass / span for mass, span in zip(template.mass, spans_us, strict=False)]
        most = max(densities)
        for before, span, density in list(zip(edges_us, spans_us, densities, strict=False))[:MOST_BARS]:
            left, right = max(0.0, x(before)), min(float(WIDE), x(before + span))
            if right > left:
                tall = (LANE - 8) * density / most
                _rect(left, y + LANE - 8 - tall, max(0.8, right - left), tall, "density")
    _rect(x(lane.seen_us) - 1, y - 2, 2, LANE - 4, "seen")


def _rect(x: float, y: float, wide: float, tall: float, kind: str) -> None:
    sizes = {"x": x, "y": y, "width": wide, "height": tall}
    rect = ui.element("rect").classes(kind)
    for name, size in sizes.items():
        rect.props[name] = f"{size:.2f}"
