"""What is heard of a sensor, in words: when, how often, how much of it too late, and whether its template fits."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec
from nicegui import ui

from coincide.learning.drift import USUAL_MATCH, has_wrong_spread, is_off, true_probability
from services.console.drawing.template_picture import draw_fit
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import TimeWords, duration, probability, rate
from services.console.rest.documents import SensorAnswer
from services.console.rest.sensor_answers import DriftAnswer, HeardAnswer

SILENT_AFTER_S = 3600.0
CERTAIN = 1e-4  # there are many sensors on a page
FIT_TAKES = (
    "It takes a match of three or more in which the other sensors know better than this one when it was, "
    "and this one reported nothing else near it."
)
_NO_NUMBER = "not known"


def heard_of(sensor: SensorAnswer) -> dict[str, HeardAnswer]:
    """Return what is heard of each of a sensor's streams."""
    return {stream: msgspec.convert(each, HeardAnswer) for stream, each in sensor.health.items()}


def is_silent(sensor: SensorAnswer) -> bool:
    """Whether nothing was heard of it for longer than it may be silent."""
    last_us = _last_us(heard_of(sensor).values())
    return last_us is None or time.time() - last_us / 1e6 > (sensor.expect_every_s or SILENT_AFTER_S)


class HeardCells:
    """The cells of a table's row that say what is heard; they change while the row stays."""

    def __init__(self, times: TimeWords) -> None:
        self._times = times
        with ui.element("td"):
            self._ago = Words("span", "")
        self._rates, self._late = ui.element("td"), ui.element("td")
        self._fit = Words("td", "")

    def say(self, sensor: SensorAnswer) -> None:
        """Say what is heard now."""
        heard = list(heard_of(sensor).values())
        last_us = _last_us(heard)
        self._ago.set_text(_since(last_us))
        self._ago.props["title"] = "never" if last_us is None else self._times.exact(last_us)
        _fill(self._rates, [(_rate_of(each), f"{each.rate_hz} a second") for each in heard])
        _fill(self._late, [(probability(each.late_share), repr(each.late_share)) for each in heard])
        self._fit.set_text("; ".join(_fit_of(each) for each in heard) or _NO_NUMBER)
        self._fit.props["title"] = "; ".join(_exact_fit(each) for each in heard)


def show_heard(times: TimeWords, heard: HeardAnswer | None) -> None:
    """Say what is heard of one stream of a sensor, in sentences, and draw how its template fits."""
    with ui.element("div").classes("stack"):
        if heard is None:
            Words("p", "Nothing was heard of it yet.")
            return
        seen = Words("p", f"Heard of {_since(heard.last_seen_us)}; {_rate_of(heard)}.")
        seen.props["title"] = f"{times.exact(heard.last_seen_us)}; {heard.rate_hz} a second"
        late = Words("p", f"{probability(heard.late_share)} of its detections came too late.")
        late.props["title"] = repr(heard.late_share)
        if heard.echo_share:
            echoes = Words(
                "p", f"{probability(heard.echo_share)} of its detections were echoes of its own, and did not count."
            )
            echoes.props["title"] = repr(heard.echo_share)
        if heard.drift is None:
            Words("p", "Whether the template fits is not known yet: no match has told.")
            Words("p", FIT_TAKES).classes("soft small")
            return
        fit = Words("p", f"The template fits: {_fit_of(heard)}, by {heard.drift.errors} recent errors.")
        fit.props["title"] = _exact_fit(heard)
    if heard.drift.levels:
        draw_fit(heard.drift.levels, f"P-P plot of {heard.drift.errors} errors: off by {heard.drift.distance:.2g}")


def _last_us(heard: Iterable[HeardAnswer]) -> int | None:
    return max((each.last_seen_us for each in heard), default=None)


def _since(last_us: int | None) -> str:
    return "never" if last_us is None else f"{duration(max(0.0, time.time() - last_us / 1e6))} ago"


def _rate_of(heard: HeardAnswer) -> str:
    return "not known yet" if heard.rate_hz is None else rate(heard.rate_hz)


def _fit_of(heard: HeardAnswer) -> str:
    """Return whether recent errors fit the template."""
    drift = heard.drift
    if drift is None or drift.errors < 20:
        return "not known"
    wrong = [f"off by {drift.distance:.2g}"] if is_off(drift, certain=CERTAIN) else []
    if has_wrong_spread(drift, certain=CERTAIN):
        is_true = true_probability(USUAL_MATCH, drift.spread)
        wide = f"errors are {drift.spread:.2g} times as wide as it says"
        wrong.append(f"{wide}, so that P of {USUAL_MATCH:g} should be {is_true:.2f}")
    return f"no: {', '.join(wrong)}" if wrong else "yes"


def _exact_fit(heard: HeardAnswer) -> str:
    drift = heard.drift
    return _NO_NUMBER if drift is None else _figures(drift)


def _figures(drift: DriftAnswer) -> str:
    off = f"distance {drift.distance:g}, p-value {drift.p_value:g}"
    return f"{off}; spread {drift.spread:g}, p-value {drift.spread_p_value:g}"


def _fill(cell: ui.element, numbers: list[tuple[str, str]]) -> None:
    cell.clear()
    with cell:
        for words, exact in numbers or [(_NO_NUMBER, "nothing was heard")]:
            figure(words, exact, "div")
