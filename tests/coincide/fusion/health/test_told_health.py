"""What the fusion core tells of its sensors: who was late, who is silent, whose template drifts."""

from collections.abc import Sequence

import numpy as np
import pytest

from coincide import Histogram, Stream
from coincide.clocks import Clock
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.learning.drift import is_drift
from coincide.wire.sensor_health import SensorHealth
from services.common.health_board import HealthBoard
from tests.coincide.fusion.inputs import STREAMS, Row, edge, frame, heartbeat, put, started

CLIQUE = {
    "id": "bang",
    "from": dict.fromkeys("abcd", "p"),
    "form": "clique",
    "within": [edge(8.0, 0.1)],
    "joint_threshold": 0.05,
    "sensors": "different",
}


def board_after(core: FusionCore, *batches: Sequence[InputRecord]) -> HealthBoard:
    board = HealthBoard()
    for batch in batches:
        for record in core.push(batch).health.values():
            board.take(record.key, record.value)
    return board


def of(board: HealthBoard, sensor: str) -> SensorHealth:
    found = board.of(sensor, "p")
    assert found is not None
    return found


def test_a_sensor_that_is_always_late_is_seen_though_nothing_of_it_is_joined() -> None:
    core, at_s = started(), 1e6
    batches = [[frame(0, [Row("x", at_s)], received_at_s=at_s)]]
    for nth in range(1, 5):
        now_s = at_s + 60 * nth
        batches.append([frame(2 * nth, [Row(f"n{nth}", now_s)], received_at_s=now_s)])
        batches.append([frame(2 * nth + 1, [Row(f"s{nth}", at_s - 600, sensor="slow")], received_at_s=now_s)])
    board = board_after(core, *batches, [heartbeat(10, at_s + 250)])
    assert of(board, "north").late_share == 0
    assert of(board, "slow").late_share == 1
    assert of(board, "slow").last_seen_us == round((at_s + 240) * 1e6)
    assert (of(board, "slow").rate_hz or 0.0) == pytest.approx(1 / 60, rel=0.01)


def test_a_sensor_that_repeats_itself_is_seen() -> None:
    core = started(streams={**STREAMS, "p": Stream("p", 20, 8, echo_s=0.5)})
    bangs_s = [1e6 + 60 * nth for nth in range(4)]
    batches = [
        [
            frame(
                nth,
                [Row(f"{nth}", at_s), Row(f"{nth}+", at_s + 0.3), Row(f"{nth}", at_s, sensor="once")],
                "bay",
                0,
                at_s,
            )
        ]
        for nth, at_s in enumerate(bangs_s)
    ]
    board = board_after(core, *batches, *([heartbeat(nth, bangs_s[-1] + 10 * nth)] for nth in range(4, 12)))
    assert of(board, "north").echo_share == pytest.approx(0.5, rel=0.01)
    assert of(board, "once").echo_share == 0


def test_heartbeats_tell_what_waited_when_detections_stop_coming() -> None:
    core = started()
    board = board_after(
        core,
        [frame(0, [Row("x", 1e6)], received_at_s=1e6)],
        [frame(1, [Row("y", 1e6 + 3)], received_at_s=1e6 + 3)],
    )
    assert of(board, "north").last_seen_us == 1e12
    for record in core.push([heartbeat(2, 1e6 + 10)]).health.values():
        board.take(record.key, record.value)
    assert of(board, "north").last_seen_us == 1_000_003_000_000
    assert core.push([heartbeat(3, 1e6 + 30)]).health == {}


def test_undeclared_streams_and_broken_templates_are_of_nobody() -> None:
    rows = [Row("x", 1e6, stream="nothing"), Row("y", 1e6, Histogram.uniform(-9, 9), sensor="south")]
    core = started()
    assert core.push([frame(0, rows)]).health == {}


def bangs(core: FusionCore, clock_s: float, count: int = 150) -> HealthBoard:
    """Push bangs that four sensors hear, each with an error of its template; the clock of one is wrong by so much."""
    bounds = [(-1, 1), (-2, 0), (-0.8, 0.8), (-1.5, 1.5)]
    rng, batches = np.random.default_rng(3), list[list[InputRecord]]()
    for nth in range(count):
        at_s, error_s = 1e6 + 30 * nth, [rng.uniform(*each) for each in bounds]
        error_s[3] -= clock_s
        rows = [
            Row(
                f"{nth}",
                at_s - rng.uniform(*each) + clock_s * (which == 3),
                Histogram.uniform(*each),
                "p",
                f"mic-{which}",
            )
            for which, each in enumerate(bounds)
        ]
        batches.append([frame(nth, rows, received_at_s=at_s + 3)])
    return board_after(core, *batches)


def test_a_clock_that_went_wrong_shows_as_drift_and_right_ones_do_not() -> None:
    for clock_s in (0.0, 1.2):
        core = started(put(0, CLIQUE))
        board = bangs(core, clock_s)
        drifts = [of(board, f"mic-{which}").drift for which in range(4)]
        assert all(drift is not None and drift.errors >= 80 for drift in drifts)
        wrong = [drift for drift in drifts if drift and drift.p_value < 1e-3]
        assert wrong == ([drifts[3]] if clock_s else [])


@pytest.mark.parametrize(
    ("clock_s", "is_declared", "drifting"),
    [(0.0, True, []), (0.0, False, [0, 1, 2]), (2.0, True, [0, 1, 2])],
    ids=["right", "not declared", "off"],
)
def test_sensors_on_one_clock_are_judged_by_those_that_are_not(
    clock_s: float, is_declared: bool, drifting: list[int]
) -> None:
    """They agree with each other too well for errors that are taken to be each its own."""
    gateway = Clock("gw-7", Histogram.uniform(-0.5, 0.5)).template(Histogram.uniform(-0.1, 0.1))
    on_clock = gateway if is_declared else Histogram(gateway.edges_s, gateway.mass)
    core = started(put(0, {**CLIQUE, "from": dict.fromkeys("abcde", "p")}))
    rng, batches = np.random.default_rng(3), list[list[InputRecord]]()
    for nth in range(120):
        at_s, off_s = 1e6 + 30 * nth, clock_s + rng.uniform(-0.5, 0.5)
        errors_s = [*(off_s + rng.uniform(-0.1, 0.1, 3)), *rng.uniform(-0.5, 0.5, 2)]
        templates = [on_clock] * 3 + [Histogram.uniform(-0.5, 0.5)] * 2
        rows = [
            Row(f"{nth}", at_s - error_s, template, "p", f"mic-{which}")
            for which, (error_s, template) in enumerate(zip(errors_s, templates, strict=True))
        ]
        batches.append([frame(nth, rows, received_at_s=at_s + 3)])
    board = board_after(core, *batches)
    drifts = [of(board, f"mic-{which}").drift for which in range(3)]
    assert all(drift is not None and drift.errors >= 80 for drift in drifts)
    assert [nth for nth, drift in enumerate(drifts) if drift and is_drift(drift)] == drifting


def test_reports_that_may_be_of_one_event_or_the_next_tell_nothing_of_a_template() -> None:
    near = {**CLIQUE, "from": dict.fromkeys("abc", "p"), "within": [edge(2.0, 0.1)]}
    core, rng, template = started(put(0, near)), np.random.default_rng(3), Histogram.uniform(-0.3, 0.3)
    batches = [
        [frame(nth, [Row(f"{nth}", at_s - rng.uniform(-0.3, 0.3), template, "p", each)], received_at_s=at_s + 0.5)]
        for nth in range(100)
        for at_s in [1e6 + nth]
        for each in ("mic-0", "mic-1", "mic-2")
    ]
    board = board_after(core, *batches)
    assert sum(drift.errors for each in range(3) if (drift := of(board, f"mic-{each}").drift)) <= 3
