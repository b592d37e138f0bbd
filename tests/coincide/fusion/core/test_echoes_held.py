"""Reports that are held back: when they are let go, what a change of their stream does to them, and their bound."""

from dataclasses import replace
from typing import Any

import pytest

from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.saving.state_format import UnfitStateError
from tests.coincide.fusion.inputs import STREAMS, Row, declaration, frame, heartbeat, put, query_json, started
from tests.coincide.fusion.outputs import SavedCore, letters, matches, pairs, reasons, status

ECHOING = {**STREAMS, "p": replace(STREAMS["p"], echo_s=0.5)}
NEAR = put(0, query_json(window_s=2.0, threshold=0.5))
QUIET = Limits(quiet_s=10)

restarting = pytest.mark.parametrize("restarts", [False, True], ids=["without a restart", "with restarts"])


class Run:
    """A core that may be restarted after every push."""

    def __init__(self, *, restarts: bool, limits: Limits = QUIET, streams: dict[str, Stream] = ECHOING) -> None:
        self.restarts, self.saved = restarts, SavedCore(streams, limits)
        self.core = started(streams=streams, limits=limits)
        self.push(NEAR)

    def push(self, *records: InputRecord) -> Any:
        output = self.core.push(list(records))
        self.saved.save(self.core)
        if self.restarts:
            self.core = self.saved.restored()
        return output


def bang(offset: int, *rows: Row, at_s: float = 1000.0) -> InputRecord:
    return frame(offset, rows, received_at_s=at_s)


def twice(offset: int = 0) -> InputRecord:
    """A bang that `north` reports three times, and `south` on another stream once."""
    reports = [Row(name, at_s) for name, at_s in (("first", 1000.0), ("second", 1000.4), ("third", 1000.8))]
    return bang(offset, *reports, Row("s", 1000.1, stream="s", sensor="south"))


def silence(offset: int, since_s: float, until_s: float) -> list[InputRecord]:
    """Heartbeats every ten seconds."""
    times_s = range(round(since_s) + 10, round(until_s) + 1, 10)
    return [heartbeat(nth, at_s) for nth, at_s in enumerate(times_s, offset)]


@restarting
def test_the_first_of_a_series_joins_once_no_earlier_one_can_come(restarts: bool) -> None:
    run = Run(restarts=restarts)
    assert pairs(run.push(twice())) == []
    told = run.push(bang(1, Row("early", 999.9), at_s=1020.0), bang(2, Row("now", 1020.0, sensor="east"), at_s=1020.0))
    assert pairs(told) == [("early", "s")]  # `first` would be on time, if only just
    assert status(told)["buffered"] == {"p": 5, "s": 1}
    assert status(run.push(*silence(3, 1020.0, 1100.0)))["totals"]["echoes"] == 3


@restarting
def test_heartbeats_let_go_of_what_a_silent_area_holds(restarts: bool) -> None:
    run = Run(restarts=restarts)
    run.push(twice())
    assert pairs(run.push(*silence(1, 1000.0, 1030.0))) == []
    told = run.push(heartbeat(9, 1030.1))
    assert pairs(told) == [("first", "s")]
    assert matches(told)[0]["chance_rate_hz"] is None
    totals = status(run.push(heartbeat(10, 1031.0)))["totals"]
    assert (totals["accepted"], totals["echoes"], totals["matches"]) == (4, 2, 1)
    assert status(run.push())["buffered"] == {"p": 1, "s": 1}


@restarting
def test_an_echo_of_what_was_let_go_is_an_echo(restarts: bool) -> None:
    run = Run(restarts=restarts)
    run.push(bang(0, Row("first", 1000.0)))
    run.push(bang(1, Row("again", 1000.3), Row("other", 1020.1, sensor="east"), at_s=1020.1))
    run.push(bang(2, Row("s", 1000.5, stream="s", sensor="south"), Row("far", 1040.0, sensor="far"), at_s=1040.0))
    assert status(run.push(*silence(3, 1040.0, 1100.0)))["totals"]["echoes"] == 1


@restarting
def test_a_report_that_is_posted_again_counts_once(restarts: bool) -> None:
    run = Run(restarts=restarts)
    for offset in range(3):
        run.push(twice(offset))
    other = replace(Row("first", 1000.0), at_s=1000.2)
    assert reasons(run.push(bang(3, other))) == ["conflict"]
    totals = status(run.push(*silence(4, 1000.0, 1100.0)))["totals"]
    assert (totals["accepted"], totals["duplicates"], totals["conflicts"], totals["matches"]) == (4, 8, 1, 1)


@restarting
def test_a_stream_that_has_no_echoes_any_more_holds_nothing_and_forgets_no_id(restarts: bool) -> None:
    run = Run(restarts=restarts)
    run.push(twice())
    assert pairs(run.push(declaration(1, "p", 20))) == [("first", "s"), ("second", "s"), ("third", "s")]
    totals = status(run.push(twice(1)))["totals"]
    assert (totals["accepted"], totals["echoes"], totals["duplicates"]) == (4, 0, 4)


@restarting
def test_a_stream_that_gets_echoes_counts_nothing_again(restarts: bool) -> None:
    run = Run(restarts=restarts, streams=dict(STREAMS))
    assert len(pairs(run.push(twice()))) == 3
    run.push(declaration(1, "p", 20, echo_s=0.5))
    totals = status(run.push(twice(1)))["totals"]
    assert (totals["accepted"], totals["duplicates"]) == (4, 4)


@restarting
def test_with_too_many_that_wait_the_oldest_are_judged_by_what_is_known(restarts: bool) -> None:
    run = Run(restarts=restarts, limits=Limits(max_buffered=2))
    run.push(bang(0, Row("s", 1000.1, stream="s", sensor="south")))
    rows = [Row(f"p{nth}", 1000.0 + nth) for nth in range(4)]
    told = run.push(bang(1, *rows))
    assert pairs(told) == [("p0", "s"), ("p1", "s")]
    assert pairs(run.push(bang(2, rows[0]))) == []
    assert status(run.push())["totals"]["duplicates"] == 1


def test_a_file_that_declares_other_echoes_needs_a_rebuild() -> None:
    run = Run(restarts=False)
    run.saved.streams = STREAMS
    with pytest.raises(
        UnfitStateError, match=r"max_delay_s 20 and longest_template_s 8 and echo_s 0\.5, which the file"
    ):
        run.saved.restored()


def test_what_is_refused_says_so() -> None:
    letter = letters(started().push([declaration(0, "p", 20, echo_s=-1)]))[0]
    assert letter["reason"] == "unusable_stream"
    assert "echo_s is -1" in letter["detail"]
