"""What a drill says of what it saw, without a system."""

import pytest

from trials.drills.drill import Outcome, Watch
from trials.drills.faults import FAULTS
from trials.drills.first_row import Samples, Shown, shown
from trials.drills.monitoring import Monitoring
from trials.drills.table import HEAD, table

NOWHERE = Monitoring("http://127.0.0.1:1", "http://127.0.0.1:1")
DOWN = Shown("Up", "coincide-fusion", "DOWN", "red")


def outcome(rang: dict[str, list[float]], cleared_s: float, *lit: Shown) -> Outcome:
    during, after = Watch(NOWHERE, rang_s=rang, lit_s={"Up": [6.0, 90.0]}), Watch(NOWHERE, lit_s={"Up": [0, cleared_s]})
    return Outcome(FAULTS[0], during, after, [DOWN, *lit])


RIGHT = {"CoincideComponentDown": [48.0, 90.0], "line_stalled": [76.0, 90.0]}


@pytest.mark.parametrize(
    ("seen", "bars"),
    [
        (outcome(RIGHT, 12.0), "hold"),
        (outcome(RIGHT, 61.0), "broken: too late"),
        (outcome({"CoincideComponentDown": [91.0, 95.0]}, 12.0), "broken: too late"),
        (outcome(RIGHT | {"CoincideFusionStalled": [80.0, 90.0]}, 12.0), "broken: CoincideFusionStalled"),
        (outcome(RIGHT, 12.0, Shown("Lag", "fusion", "6e+03", "red")), "broken: Lag"),
        (outcome({}, 12.0), "broken: too late"),
    ],
)
def test_bars_hold_where_the_right_ones_came_in_time_and_no_others(seen: Outcome, bars: str) -> None:
    assert table([seen]).splitlines()[-1].endswith(f"| {bars} |")


def test_a_line_of_the_table_says_all() -> None:
    seen = outcome(RIGHT, 12.0, Shown("Lag", "fusion", "unknown", "purple"))
    line = "| fusion stopped | CoincideComponentDown | 48 s | Up | 6 s | Lag | 12 s (Up) | hold |"
    assert table([seen]) == f"{HEAD}\n{line}"


@pytest.mark.parametrize(
    ("value", "panel", "text", "colour"),
    [
        (0.0, "Up", "DOWN", "red"),
        (-2.0, "Ready", "unknown", "purple"),
        (float("nan"), "Delay", "no matches", "text"),
        (6.25, "Delay", "6.25", "red"),
        (999.0, "Lag", "999", "green"),
    ],
)
def test_panels_are_coloured_as_grafana_does(value: float, panel: str, text: str, colour: str) -> None:
    def ask(_expression: str) -> Samples:
        return [({"job": "coincide-fusion"}, value)]

    assert {(each.text, each.colour) for each in shown(ask) if each.panel == panel} == {(text, colour)}
