"""A curve of what a sensor read: each number of its attributes over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nicegui import ui

from services.console.pages.number_words import counted
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import TimeWords
from services.console.rest.documents import RecentDetectionAnswer

WIDE, TALL, EDGE = 320, 72, 3
MOST_CURVES = 3


class CurvePoint(NamedTuple):
    """A number that was read, and when, by the sensor's clock."""

    at_us: int
    value: float


def readings_of(seen: Iterable[RecentDetectionAnswer], sensor: str, stream: str) -> dict[str, list[CurvePoint]]:
    """Return what one sensor read on one stream, by the names of its attributes that are numbers, in order of time."""
    found: dict[str, list[CurvePoint]] = {}
    for each in seen:
        if (each.sensor, each.stream) == (sensor, stream):
            for name, value in each.attributes.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    found.setdefault(name, []).append(CurvePoint(each.detected_at_us, value))
    return {name: sorted(readings) for name, readings in sorted(found.items()) if len(readings) > 1}


def draw_readings(readings: dict[str, list[CurvePoint]], times: TimeWords) -> None:
    """Draw a curve for each of the first attributes."""
    for name, curve in list(readings.items())[:MOST_CURVES]:
        least, most = min(each.value for each in curve), max(each.value for each in curve)
        with ui.element("div").classes("row spread small"):
            Words("strong", name)
            figure(f"{least:.4g} to {most:.4g}", f"{least!r} to {most!r}")
        _draw(curve, least, most, f"{name}: {least:.4g} to {most:.4g}, {counted(len(curve), 'reading')}")
        with ui.element("div").classes("row spread soft small"):
            for each in (curve[0], curve[-1]):
                figure(times.instant(each.at_us), times.exact(each.at_us))


def _draw(curve: Sequence[CurvePoint], least: float, most: float, said: str) -> None:
    begin_us, wide_us = curve[0].at_us, max(curve[-1].at_us - curve[0].at_us, 1)
    tall = most - least or 1.0

    def point(each: CurvePoint) -> str:
        x = EDGE + (each.at_us - begin_us) / wide_us * (WIDE - 2 * EDGE)
        return f"{x:.1f} {EDGE + (most - each.value) / tall * (TALL - 2 * EDGE):.1f}"

    picture = ui.element("svg").classes("reading-curve").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
    picture.props["aria-label"] = said
    with picture:
        ui.element("path").classes("fit-errors").props["d"] = "M" + " L".join(map(point, curve))
