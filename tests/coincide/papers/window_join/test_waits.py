"""Nothing waits, or is held, longer than it must."""

from __future__ import annotations

from coincide import ConstraintGraph, Window
from coincide.papers.window_join import variants
from tests.reference.window_join_points import arriving

PAIR = ConstraintGraph.clique("ab", Window(10e-6))


def test_few_does_not_wait_for_the_stream_of_the_tuple_that_it_drops() -> None:
    # b 12 ends the period of a 0, whatever a sends yet, and is in that of b 2; only a 0 waited: for b 2
    result = variants.few_nested_loop(arriving([("a", 0), ("b", 2), ("a", 3), ("b", 12), ("a", 40)]), PAIR)
    assert result.members.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert (result.work.waited_us, result.work.longest_wait_us) == (2, 2)


def test_few_puts_a_stream_in_order_by_its_greatest_time() -> None:
    # a may come 18 late: a 10 waits until a 30 (20) and b 11 with it (19), a 12 not at all, a 30 until a 50 (20)
    order = [("a", 10), ("b", 11), ("a", 30), ("a", 12), ("b", 50), ("a", 50)]
    result = variants.few_hash(arriving(order), PAIR)
    assert result.members.tolist() == [[0, 0], [2, 0], [3, 1]]
    assert (result.work.waited_us, result.work.longest_wait_us) == (20 + 19 + 20, 20)


def test_bew_drops_by_the_greatest_time_of_a_stream() -> None:
    # after a 40, and 15 of disorder, no a before 25 can come: of b no tuple up to 14 is held beyond its own turn
    result = variants.bew_hash(arriving([("a", 40), ("a", 25), ("b", 12), ("b", 13), ("b", 14)]), PAIR)
    assert result.work.buffered == 3


def test_bew_holds_a_window_of_each_stream() -> None:
    order = [(stream, time_us) for time_us in range(100) for stream in "ab"]
    result = variants.bew_nested_loop(arriving(order), PAIR)
    assert result.work.buffered == 2 * 11
