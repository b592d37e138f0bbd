"""SharedJoins: several queries over one set of buffers, each counting from its own activation on."""

from __future__ import annotations

import numpy as np
import pytest

from coincide import CoincideError, Histogram, Stream, Window
from coincide.constraints import JoinCondition
from coincide.joins.events import Events
from coincide.live import SharedJoins
from tests.reference.timing_join import couples

Pair = tuple[int, int]


class Timeline:
    """Several queries over shared buffers; every event is at the same time, so that only the rules decide."""

    def __init__(self) -> None:
        self.joins = SharedJoins(
            [Stream(name, max_delay_s=3, longest_template_s=4) for name in "xy"], lambda refs, others: refs < others
        )
        self.next_ref = 0

    def push(self, stream: str, count: int = 1) -> dict[str, list[Pair]]:
        refs = np.arange(self.next_ref, self.next_ref + count)
        self.next_ref += count
        zeros = np.zeros(count, np.int32)
        batch = Events(zeros, zeros.astype(np.int64), zeros, refs.astype(np.int32), refs)
        found = self.joins.push(stream, batch, [Histogram.point()])
        return {name: sorted(couples(pairs)) for name, pairs in found.items()}


def test_a_query_counts_only_rows_from_its_activation_on() -> None:
    line = Timeline()
    line.joins.install("old", JoinCondition("x", "y", Window(1), 1))
    line.push("x")  # 0
    line.joins.install("new", JoinCondition("x", "y", Window(1), 1), since_ref=1)
    line.push("x")  # 1

    assert line.push("y") == {"old": [(0, 2), (1, 2)], "new": [(1, 2)]}


def test_a_changed_threshold_keeps_the_activation() -> None:
    line = Timeline()
    line.joins.install("q", JoinCondition("x", "y", Window(1), 1), since_ref=0)
    line.push("x")
    line.joins.install("q", JoinCondition("x", "y", Window(1), 0.5), since_ref=0)

    assert line.push("y") == {"q": [(0, 1)]}


def test_another_query_does_not_change_an_answer() -> None:
    alone, crowded = Timeline(), Timeline()
    for line in (alone, crowded):
        line.joins.install("q", JoinCondition("x", "y", Window(1), 1))
    crowded.joins.install("wide", JoinCondition("y", "x", Window(1000), 0.1), since_ref=2)
    crowded.joins.install("self", JoinCondition("x", "x", Window(lo_s=-1, hi_s=2), 0.1, "any"))

    for stream, count in (("x", 2), ("y", 3), ("x", 1)):
        assert crowded.push(stream, count).get("q") == alone.push(stream, count).get("q")


def test_an_asymmetric_self_join_tries_both_orientations_once() -> None:
    line = Timeline()
    line.joins.install("q", JoinCondition("x", "x", Window(lo_s=-1, hi_s=2), 1))

    assert line.push("x", 2) == {"q": [(0, 1), (1, 0)]}
    assert line.push("x") == {"q": [(0, 2), (1, 2), (2, 0), (2, 1)]}


def test_an_undeclared_stream_is_refused() -> None:
    with pytest.raises(CoincideError, match=r"one of \['x', 'y'\]"):
        Timeline().joins.install("q", JoinCondition("x", "z", Window(1), 1))
