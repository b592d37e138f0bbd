"""A push in blocks: together they are the push, each is small, and nothing else happens before they are read."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from coincide import ConstraintGraph, Detections, Histogram, Stream, TimingJoin, Window, WindowJoin
from coincide.errors import CandidateLimitError, StreamError

SECOND = 1_000_000
CLOCK, ERROR = [Histogram.point()], [Histogram.uniform(-1, 1)]
GRAPH = ConstraintGraph.clique("abc", Window(3), 0.4)
ASKED: list[dict[str, Any]] = [{}, {"threshold": 0.3}, {"at_least": 2}]


@pytest.mark.parametrize("asked", ASKED)
def test_the_blocks_together_are_the_push(asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    whole, parts = (WindowJoin(GRAPH, [Stream(name, 10, 2) for name in "abc"], **asked) for _ in range(2))
    for first, name in product(range(0, 40, 10), "abc"):
        batch = Detections(rng.integers(first - 5, first + 10, 30) * SECOND, ERROR)
        changes, blocks = whole.push(name, batch), list(parts.push_blocks(name, batch))
        for wanted, each in (("insert", [b.insert for b in blocks]), ("retract", [b.retract for b in blocks])):
            members = [row for tuples in each for row in tuples.members.tolist()]
            assert members == getattr(changes, wanted).members.tolist()
        assert blocks[0].late.tolist() == changes.late.tolist()
        assert all(len(block.late) == 0 for block in blocks[1:])
        assert whole.buffered(name) == parts.buffered(name)


def test_a_block_is_small_and_the_batch_is_in_at_once() -> None:
    join = TimingJoin(Stream("x"), Stream("y"), Window(5), 1)
    join.push("x", Detections(range(1000), CLOCK))
    blocks = join.push_blocks("y", Detections(range(1000), CLOCK))
    assert join.buffered("y") == 1000
    sizes = [len(block.insert) for block in blocks]
    assert sum(sizes) == 1_000_000
    assert max(sizes) <= 65_536 + 1000


@pytest.mark.parametrize("read", [0, 1])
def test_nothing_else_happens_before_the_blocks_are_read_or_closed(read: int) -> None:
    join = TimingJoin(Stream("x"), Stream("y"), Window(5), 1)
    batch = Detections(range(1000), CLOCK)
    join.push("x", batch)
    blocks = join.push_blocks("y", batch)
    for _ in range(read):
        next(blocks)
    for act in (
        lambda: join.push("x", batch),
        lambda: join.push_blocks("x", batch),
        join.flush,
        lambda: join.advance(0),
    ):
        with pytest.raises(StreamError, match="read to the end, or closed"):
            act()
    blocks.close()
    assert list(blocks) == []
    assert join.buffered("x") == 1000
    join.push("x", batch)
    del blocks
    unread = join.push_blocks("y", batch)
    del unread
    assert join.flush() == 4000


def test_one_row_with_too_many_candidates_ends_the_blocks() -> None:
    join = WindowJoin(GRAPH, [Stream(name) for name in "abc"], at_least=2, max_candidates=8)
    for name in "ab":
        join.push(name, Detections([0] * 3, CLOCK))
    with pytest.raises(CandidateLimitError):
        list(join.push_blocks("c", Detections([0], CLOCK)))
    assert join.push("c", Detections([60 * SECOND], CLOCK)).insert.members.tolist() == []
