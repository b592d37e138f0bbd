"""The what-if curve: matches, episodes and chance at each threshold, with the present and the chosen one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from services.console.rest.run_answers import CurvePointAnswer

WIDE, TALL, LEFT, BELOW, ABOVE = 640, 220, 46, 24, 10


class _Text(TextElement):
    def __init__(self, x: float, y: float, text: str, anchor: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes("axis-words").props(f"text-anchor={anchor}")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


class ThresholdCurve:
    """The picture; `choose` moves the line of the threshold that is looked at."""

    def __init__(self, points: Sequence[CurvePointAnswer], present: float) -> None:
        self._most = max([1.0, *(float(each.matches) for each in points)])
        self._least_x = min([present, *(each.threshold for each in points)])
        picture = ui.element("svg").classes("threshold-curve").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
        picture.props["aria-label"] = "Matches, episodes and chance matches at each threshold"
        with picture:
            self._axes()
            self._steps([(each.threshold, float(each.matches)) for each in points], "curve-matches")
            episodes = [(each.threshold, float(each.episodes)) for each in points if each.episodes is not None]
            self._steps(episodes, "curve-episodes")
            chance = [(each.threshold, each.chance) for each in points if each.chance is not None]
            self._steps(chance, "curve-chance")
            self._upright(present, "curve-present")
            self._chosen = self._upright(present, "curve-chosen")

    def choose(self, threshold: float) -> None:
        """Show which threshold is looked at."""
        at = f"{self._x(threshold):.1f}"
        self._chosen.props["x1"] = self._chosen.props["x2"] = at
        self._chosen.update()

    def _x(self, threshold: float) -> float:
        span = max(1e-9, 1.0 - self._least_x)
        return LEFT + (WIDE - LEFT - 8) * (min(max(threshold, self._least_x), 1.0) - self._least_x) / span

    def _y(self, count: float) -> float:
        return ABOVE + (TALL - ABOVE - BELOW) * (1 - min(count, self._most) / self._most)

    def _axes(self) -> None:
        floor = TALL - BELOW
        self._line(LEFT, floor, WIDE - 8, floor, "curve-axis")
        for count in (0.0, *([self._most // 2] if self._most > 3 else []), self._most):
            _Text(LEFT - 6, self._y(count) + 4, _whole(count), "end")
        marks = [self._least_x, *(each / 10 for each in range(math.ceil(self._least_x * 10 + 0.5), 11))]
        for mark in marks:
            _Text(self._x(mark), TALL - 7, f"{mark:.2g}", "middle")

    def _steps(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Draw steps: a threshold keeps its count up to the next one."""
        if not points:
            return
        ordered = sorted(points)
        moves = [f"M{self._x(ordered[0][0]):.1f} {self._y(ordered[0][1]):.1f}"]
        for threshold, count in ordered[1:]:
            moves.append(f"H{self._x(threshold):.1f} V{self._y(count):.1f}")
        path = ui.element("path").classes(kind)
        path.props["d"] = " ".join(moves)

    def _upright(self, threshold: float, kind: str) -> ui.element:
        return self._line(self._x(threshold), ABOVE, self._x(threshold), TALL - BELOW, kind)

    def _line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> ui.element:
        line = ui.element("line").classes(kind)
        for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)):
            line.props[name] = f"{value:.1f}"
        return line


def _whole(count: float) -> str:
    return f"{count:.3g}" if count < 1000 else f"{count / 1000:.3g}k" if count < 1_000_000 else f"{count / 1e6:.3g}M"
