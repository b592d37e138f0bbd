"""What ECharts draws of a run: its curve, and what is added, gone and changed on a line of time.

Series differ in form as well as in colour. Texts are coloured by the style sheet, for light and for dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from services.console.rest.run_answers import CurvePointAnswer, SlidesAnswer

BLUE, AMBER, GREY = "#3d8fc4", "#b3760f", "#84909e"
KINDS = {
    "added": (BLUE, "triangle"),
    "gone": (AMBER, "diamond"),
    "changed": (GREY, "circle"),
    "evidence": (GREY, "rect"),
}
LOGARITHMIC_FROM = 100
GRID = {"lineStyle": {"color": GREY, "opacity": 0.3}}


class RunCurve:
    """The curve of a run; `choose` marks the threshold that is looked at."""

    def __init__(
        self,
        points: Sequence[CurvePointAnswer],
        own_threshold: float | None,
        slides: tuple[float, SlidesAnswer] | None = None,
    ) -> None:
        self._chart = ui.echart(curve_options(points, own_threshold, slides), renderer="svg").classes("chart")
        self._chart.props["role"] = "img"
        self._chart.props["aria-label"] = "Matches, episodes and chance at each threshold"
        if is_logarithmic(points) and not all(each.matches for each in points):
            said = "The scale is logarithmic: beyond the end of a line there is nothing."
            TextElement(tag="p", text=said).classes("soft small")

    def choose(self, threshold: float) -> None:
        """Mark a threshold beside the query's own."""
        for first in self._chart.options["series"][:1]:
            first["markLine"]["data"][1:] = [_chosen(threshold)]
            self._chart.update()


def curve_options(
    points: Sequence[CurvePointAnswer],
    own_threshold: float | None,
    slides: tuple[float, SlidesAnswer] | None = None,
) -> dict[str, Any]:
    """Return the chart of matches, episodes and chance, each a line of steps: what reaches the next threshold counts.

    A step stands at its beginning, so that from behind one threshold on the line is as high as at the next. What time
    slides say of chance stands at their threshold, with its interval.
    """
    told = _told(points)
    is_wide = is_logarithmic(points)
    looks = {"matches": (BLUE, "solid"), "episodes": (AMBER, "dashed"), "by chance": (GREY, "dotted")}
    series = [_line(name, told[name], *look, is_wide=is_wide) for name, look in looks.items() if told[name]]
    if own_threshold is not None and series:
        series[0]["markLine"] = _own(own_threshold)
    if slides is not None:
        series.append(_slid(*slides, is_wide=is_wide))
    axis = {
        "type": "value",
        "name": "threshold",
        "nameLocation": "middle",
        "nameGap": 28,
        "min": "dataMin",
        "max": 1,
        "splitLine": GRID,
    }
    return {
        "animation": False,
        "tooltip": {"trigger": "axis", "confine": True},
        "legend": {"top": 0, "right": 16},
        "grid": {"left": 64, "right": 24, "top": 48, "bottom": 44},
        "xAxis": axis,
        "yAxis": {"type": "log" if is_wide else "value", "minorTick": {"show": is_wide}, "splitLine": GRID},
        "series": series,
    }


def is_logarithmic(points: Sequence[CurvePointAnswer]) -> bool:
    """Whether the counts differ so much that only their logarithms can be told apart; 0 is not drawn then."""
    counts = [count for series in _told(points).values() for _, count in series if count > 0]
    return max(counts, default=0.0) > LOGARITHMIC_FROM * min(counts, default=1.0)


def _told(points: Sequence[CurvePointAnswer]) -> dict[str, list[tuple[float, float]]]:
    return {
        "matches": [(each.threshold, each.matches) for each in points],
        "episodes": [(each.threshold, each.episodes) for each in points if each.episodes is not None],
        "by chance": [(each.threshold, each.chance) for each in points if each.chance is not None],
    }


def _line(name: str, points: Sequence[Sequence[float]], colour: str, dashes: str, *, is_wide: bool) -> dict[str, Any]:
    drawn = [each for each in points if each[1] > 0] if is_wide else list(points)  # a logarithm has no 0
    return {
        "type": "line",
        "step": "start",
        "name": name,
        "data": drawn,
        "symbol": "circle",
        "showSymbol": len(drawn) < 12,
        "lineStyle": {"type": dashes, "width": 2.5, "color": colour},
        "itemStyle": {"color": colour},
    }


def _slid(threshold: float, slides: SlidesAnswer, *, is_wide: bool) -> dict[str, Any]:
    """Return an upright line from end to end of the interval, with a mark at the mean."""
    low, high = slides.interval
    end: dict[str, Any] = {"symbol": "rect", "symbolSize": [14, 2]}
    mean: dict[str, Any] = {"symbol": "diamond", "symbolSize": 10}
    marks = [(low, end), (slides.chance, mean), (high, end)]
    return {
        "type": "line",
        "name": "by time slides",
        "data": [{"value": (threshold, count), **look} for count, look in marks if count > 0 or not is_wide],
        "showSymbol": True,
        "lineStyle": {"type": "solid", "width": 2, "color": GREY},
        "itemStyle": {"color": GREY},
    }


def _own(threshold: float) -> dict[str, Any]:
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": GREY, "type": "solid", "width": 1},
        "label": {"formatter": "the query's own", "position": "end", "rotate": 0, "align": "left"},
        "data": [{"xAxis": threshold}],
    }


def _chosen(threshold: float) -> dict[str, Any]:
    looks = {"color": AMBER, "type": "solid", "width": 2}
    return {"xAxis": threshold, "lineStyle": looks, "label": {"show": False}}


def difference_options(
    times_us: Mapping[str, Sequence[int]], from_us: int, to_us: int, *, in_utc: bool
) -> dict[str, Any]:
    """Return the chart of what differs, each kind on a lane of its own over [from_us, to_us]."""
    lanes = [name for name in KINDS if name in times_us]
    return {
        "animation": False,
        "useUTC": in_utc,
        "grid": {"left": 76, "right": 24, "top": 10, "bottom": 30},
        "xAxis": {
            "type": "time",
            "min": from_us / 1000,
            "max": to_us / 1000,
            "axisLabel": {"hideOverlap": True},
            "splitLine": GRID,
        },
        "yAxis": {"type": "category", "data": lanes, "inverse": True},
        "series": [
            {
                "type": "scatter",
                "name": name,
                "symbol": KINDS[name][1],
                "symbolSize": 10,
                "itemStyle": {"color": KINDS[name][0], "opacity": 0.8},
                "data": [[at_us / 1000, name] for at_us in times_us[name]],
            }
            for name in lanes
        ],
    }
