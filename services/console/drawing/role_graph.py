"""The roles of a query as a graph: a circle for each role, a line for each window, with its length and threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, TALL, RADIUS = 420, 240, 30
_LETTERS = 9  # of a name that fit into a circle


class _Text(TextElement):
    def __init__(self, x: float, y: float, text: str, kind: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes(kind).props("text-anchor=middle")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


@dataclass(frozen=True)
class DrawnEdge:
    """Two roles, and what stands on the line between them."""

    between: tuple[str, str]
    words: str


def draw_role_graph(roles: Sequence[tuple[str, str]], edges: Sequence[DrawnEdge]) -> None:
    """Draw roles, each with its stream, on an ellipse, and the edges between them."""
    at = {role: _place(nth, len(roles)) for nth, (role, _) in enumerate(roles)}
    picture = ui.element("svg").classes("role-graph").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
    picture.props["aria-label"] = _said(roles, edges)
    with picture:
        drawn = [each for each in edges if all(role in at for role in each.between)]
        for each in drawn:
            _line(at[each.between[0]], at[each.between[1]])
        for each in drawn:
            (x0, y0), (x1, y1) = (at[role] for role in each.between)
            _Text((x0 + x1) / 2, (y0 + y1) / 2 - 5, each.words, "edge-words")
        for role, stream in roles:
            _role(*at[role], role, stream)


def _place(nth: int, count: int) -> tuple[float, float]:
    """Two stand beside each other, more of them on an ellipse."""
    angle = math.pi + 2 * math.pi * nth / max(count, 1)
    wide, tall = WIDE / 2 - RADIUS - 24, (0.0 if count <= 2 else TALL / 2 - RADIUS - 20)
    return WIDE / 2 + wide * math.cos(angle), TALL / 2 + tall * math.sin(angle) - 6


def _line(begin: tuple[float, float], end: tuple[float, float]) -> None:
    line = ui.element("line")
    for name, value in zip(("x1", "y1", "x2", "y2"), (*begin, *end), strict=True):
        line.props[name] = f"{value:.1f}"


def _role(x: float, y: float, role: str, stream: str) -> None:
    circle = ui.element("circle")
    for name, value in (("cx", x), ("cy", y), ("r", RADIUS)):
        circle.props[name] = f"{value:.1f}"
    _Text(x, y + 5, _short(role), "role-name")
    _Text(x, y + RADIUS + 16, stream[:24], "stream-name")


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _said(roles: Sequence[tuple[str, str]], edges: Sequence[DrawnEdge]) -> str:
    parts = [f"{role}: {stream}" for role, stream in roles]
    return "; ".join([*parts, *(f"{each.between[0]} to {each.between[1]}: {each.words}" for each in edges)])
