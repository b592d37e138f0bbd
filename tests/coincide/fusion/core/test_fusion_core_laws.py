"""Laws of the fusion core, for two roles and for more, against the slow twin: batching, order, restarts, repetition."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion import outputs
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import STREAMS, Row, control, frame, put, query_json, started
from tests.coincide.fusion.outputs import late, matches, slow_matches, status
from tests.coincide.fusion.strategies import SWEEPING, Pushes, runs, split
from tests.examples import examples
from tests.reference.fusion import SlowFusion


class Kind(NamedTuple):
    """What is drawn for queries of one kind."""

    streams: dict[str, Stream]
    runs: st.SearchStrategy[Pushes]
    frames: st.SearchStrategy[list[InputRecord]]
    queries: st.SearchStrategy[dict[str, Any]]
    rows: st.SearchStrategy[Row]

    def core(self, *records: InputRecord) -> FusionCore:
        return started(*records, streams=self.streams, limits=SWEEPING)


TWO_ROLES = Kind(STREAMS, runs(), drawn.frames_in_order(), drawn.queries, drawn.rows(drawn.SHORT_SECONDS))
MANY, FRAMES, ROWS = drawn.wide_runs(), drawn.bursts_in_order(), drawn.rows(drawn.BURST_SECONDS, "pst")
MORE_ROLES = Kind(drawn.THREE_STREAMS, MANY, FRAMES, drawn.wide_queries(), ROWS)
kinds = pytest.mark.parametrize("kind", [TWO_ROLES, MORE_ROLES], ids=["two roles", "more roles"])


@kinds
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_whatever_happens_the_answers_are_those_of_the_definition(kind: Kind, data: st.DataObject) -> None:
    core, slow = kind.core(), SlowFusion(dict(kind.streams))
    for batch in data.draw(kind.runs):
        known, known_late = len(slow.matches), len(slow.late)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(slow_matches(output)) == sorted(slow.matches[known:])
        assert sorted(late(output)) == sorted(slow.late[known_late:])
        totals = status(output)["totals"]
        assert totals["accepted"] == len(slow.rows)
        assert totals["matches"] == len(slow.matches)
        assert (totals["duplicates"], totals["conflicts"]) == (slow.duplicates, slow.conflicts)
    event(f"some match: {bool(slow.matches)}")
    event(f"some superseded: {any(match[-1] for match in slow.matches)}")


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_batching_never_changes_a_match(kind: Kind, data: st.DataObject) -> None:
    frames, query = data.draw(kind.frames), data.draw(kind.queries)
    at_once, core = kind.core(put(0, query)).push(frames), kind.core(put(0, query))
    one_by_one = [match for batch in split(data.draw, frames, 4) for match in core.push(batch).matches]
    assert sorted(one_by_one) == sorted(at_once.matches)


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.integers(1, 4))
def test_the_same_rows_have_too_many_candidates_however_they_come(data: st.DataObject, most: int) -> None:
    """Neither batches nor what has been dropped by then change which rows are refused."""
    frames, query = data.draw(MORE_ROLES.frames), data.draw(MORE_ROLES.queries)

    def answers(limits: Limits, batches: list[list[InputRecord]]) -> tuple[list[str], object]:
        core = started(put(0, query), streams=MORE_ROLES.streams, limits=limits)
        outputs = [core.push(batch) for batch in batches]
        suspended = status(outputs[-1])["queries"][query["id"]].get("suspended", {})
        event(f"some row is refused: {bool(suspended)}")
        return sorted(repr(each) for output in outputs for each in matches(output)), suspended

    sweeping = replace(SWEEPING, max_candidates_per_detection=most)
    expected = answers(Limits(max_candidates_per_detection=most), [frames])
    assert answers(sweeping, [[each] for each in frames]) == expected


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_the_order_of_arrival_never_changes_what_is_left(kind: Kind, data: st.DataObject) -> None:
    members = data.draw(st.lists(kind.rows, min_size=2, max_size=10, unique_by=lambda row: (row.sensor, row.id)))
    query = data.draw(kind.queries)

    def left(*batches: list[Row]) -> list[tuple[str, str]]:
        """Everything of the records but what each superseded, which is gone."""
        core = kind.core(put(0, query))
        outputs = [core.push([frame(nth, batch, received_at_s=1000.0)]) for nth, batch in enumerate(batches)]
        records = [match for output in outputs for match in matches(output)]
        gone = {each for match in records for each in match.pop("supersedes", ())}
        return sorted((match["id"], repr(match)) for match in records if match["id"] not in gone)

    shuffled = left(*([row] for row in data.draw(st.permutations(members))))
    assert shuffled == left(*([row] for row in members)) == left(members)


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_restart_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    outputs.assert_a_restart_changes_nothing(data.draw(kind.runs), data, SWEEPING, streams=kind.streams)


@settings(max_examples=examples(40), deadline=None)
@given(runs())
def test_records_that_come_twice_add_no_match(pushes: Pushes) -> None:
    outputs.assert_repetition_adds_nothing(pushes, SWEEPING)


def test_the_strategies_reach_what_they_are_for() -> None:
    """Guard against laws that hold because nothing ever happens."""
    core = started(put(0, query_json(window_s=3.0, threshold=0.31)), limits=SWEEPING)
    first = [Row("a", 1000.0), Row("b", 1001.0, stream="s"), Row("a", 1000.0), Row("a", 1005.0)]
    output = core.push([frame(0, first), frame(1, [Row("c", 1100.0), Row("d", 1001.0)])])
    totals = status(output)["totals"]
    assert [totals[name] for name in ("accepted", "late", "duplicates", "conflicts", "matches")] == [3, 1, 1, 1, 1]
    assert status(output)["buffered"] == {"p": 1, "s": 0}
    assert control(0, {"id": "near"}).topic == "queries"
