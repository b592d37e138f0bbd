"""A template as a picture: how probable each time from the report on is; and a P-P plot of errors against it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, TALL, BELOW = 320, 110, 20
SIDE, ROOM = 120, 22
MOST_BARS = 200


class _Text(TextElement):
    def __init__(self, x: float, y: float, text: str, anchor: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes("axis-words").props(f"text-anchor={anchor}")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


def draw_template(edges_s: Sequence[float], mass: Sequence[float], said: str) -> None:
    """Draw the density over time from the report, which stands at 0; `said` says it for those who cannot see it."""
    begin_s, end_s = min(0.0, edges_s[0]), max(0.0, edges_s[-1])
    scale = (WIDE - 8) / max(end_s - begin_s, 1e-9)
    picture = ui.element("svg").classes("template-picture").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
    picture.props["aria-label"] = said

    def x(at_s: float) -> float:
        return 4 + (at_s - begin_s) * scale

    with picture:
        floor = TALL - BELOW
        widths = [max(after - before, 1e-9) for before, after in pairwise(edges_s)] or [1e-9]
        densities = [each / wide for each, wide in zip(mass, widths, strict=False)]
        most = max(densities, default=1.0) or 1.0
        for (before, after), density in list(zip(pairwise(edges_s), densities, strict=False))[:MOST_BARS]:
            tall = (floor - 6) * density / most
            _rect(x(before), floor - tall, max(1.5, (after - before) * scale), tall, "density")
        _rect(x(0.0) - 1, 2, 2, floor - 2, "seen")
        _Text(4, TALL - 5, f"{begin_s:.3g} s", "start")
        _Text(WIDE - 4, TALL - 5, f"{end_s:.3g} s", "end")
        if begin_s < 0 < end_s:
            _Text(x(0.0), TALL - 5, "report", "middle")


def draw_fit(levels: Sequence[int], said: str) -> None:
    """Draw the share of errors below each level of their template: the diagonal is a template that fits."""
    picture = ui.element("svg").classes("fit-picture").props(f'viewBox="0 0 {SIDE + ROOM} {SIDE + ROOM}" role=img')
    picture.props["aria-label"] = said
    shares = [each / max(sum(levels), 1) for each in accumulate(levels, initial=0)]
    points = [(ROOM + SIDE * nth / len(levels), SIDE * (1 - share)) for nth, share in enumerate(shares)]
    with picture:
        _rect(ROOM, 0, SIDE, SIDE, "fit-frame")
        _path([(ROOM, SIDE), (ROOM + SIDE, 0)], "fit-diagonal")
        _path(points, "fit-errors")
        _Text(ROOM + SIDE / 2, SIDE + 16, "template says", "middle")


def _path(points: Sequence[tuple[float, float]], kind: str) -> None:
    path = ui.element("path").classes(kind)
    path.props["d"] = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _rect(x: float, y: float, wide: float, tall: float, kind: str) -> None:
    rect = ui.element("rect").classes(kind)
    for name, size in {"x": x, "y": y, "width": wide, "height": tall}.items():
        rect.props[name] = f"{size:.2f}"
