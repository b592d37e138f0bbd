"""P-P plots of learnt templates as one SVG: a panel for each sensor and stream, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from coincide.learning.calibration import Calibration
from coincide.learning.held_out import Judgement

PANEL, MARGIN, TITLE = 150, 18, 26  # points on a screen
COLUMNS, MOST_PANELS, MOST_POINTS = 4, 48, 100
BAND = 0.05  # drawn on either side of the diagonal


def pp_picture(calibrations: Sequence[Calibration]) -> str:
    """Return the picture of what was held out: share of later errors below against probability below."""
    judged = [(each, each.held_out) for each in calibrations if each.held_out is not None]
    judged.sort(key=lambda one: -one[1].fit.distance)
    shown = judged[:MOST_PANELS]
    width = COLUMNS * (PANEL + MARGIN) + MARGIN
    rows = max(1, -(-len(shown) // COLUMNS))
    height = rows * (PANEL + MARGIN + TITLE) + MARGIN + TITLE
    panels = "".join(_panel(at, each, held_out) for at, (each, held_out) in enumerate(shown))
    left_out = f", the worst {MOST_PANELS} of {len(judged)}" if len(judged) > MOST_PANELS else ""
    head = f"Share of later errors below, against the probability below by the learnt template{left_out}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="10"><rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="{MARGIN}" y="{MARGIN}">{head}</text>{panels}</svg>\n'
    )


def _panel(at: int, each: Calibration, held_out: Judgement) -> str:
    x = MARGIN + at % COLUMNS * (PANEL + MARGIN)
    y = MARGIN + 2 * TITLE + at // COLUMNS * (PANEL + MARGIN + TITLE)
    name = escape(f"{each.of.sensor} {each.of.stream}"[:28])
    figures = f"{held_out.fit.count} errors, distance {held_out.fit.distance:.3f}"
    band = BAND * PANEL
    corners = f"0,{PANEL} 0,{PANEL - band} {PANEL - band},0 {PANEL},0 {PANEL},{band} {band},{PANEL}"
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in _points(held_out))
    return (
        f'<g transform="translate({x},{y})"><text y="-14">{name}</text><text y="-3" fill="#666">{figures}</text>'
        f'<polygon points="{corners}" fill="#e8eef5"/>'
        f'<rect width="{PANEL}" height="{PANEL}" fill="none" stroke="#999"/>'
        f'<polyline points="{points}" fill="none" stroke="#c33" stroke-width="1.4"/></g>'
    )


def _points(held_out: Judgement) -> Iterator[tuple[float, float]]:
    count = len(held_out.level)
    rank = np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(int))
    yield 0.0, float(PANEL)
    for level, below in zip(held_out.level[rank].tolist(), ((rank + 0.5) / count).tolist(), strict=True):
        yield level * PANEL, (1 - below) * PANEL
    yield float(PANEL), 0.0
