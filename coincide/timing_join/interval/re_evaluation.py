"""Re-evaluation: what the lazy algorithms share, events that wait for a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.regions import RegionTable
from coincide.timing_join.max_sorted_buffer import MaxSortedBuffer
from coincide.timing_join.replay import Event, Side, other_side

BLOCK = 64  # events that wait, of both streams together


def re_evaluated(
    answer: Answer, tables: Mapping[Side, RegionTable], block: int = BLOCK
) -> Iterator[tuple[Side, list[Event], MaxSortedBuffer]]:
    """Replay the arrivals; yield what is to be joined: (base stream, its events that waited, events of the other).

    Each pair comes up once: events of a that waited meet all of b, those that wait too included; events of b that
    waited meet only what of a had been processed before. What is obsolete is dropped after each block, by LH(einv).
    """
    held: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    waiting: dict[Side, list[Event]] = {"a": [], "b": []}
    for count, new in enumerate(answer.arrivals, start=1):
        waiting[new.side].append(new)
        answer.hold(*held.values(), *waiting.values())
        if sum(map(len, waiting.values())) < block and count < len(answer.arrivals):
            continue
        processed_a = held["a"]
        held = {side: MaxSortedBuffer((*held[side], *waiting[side])) for side in held}
        yield "a", waiting["a"], held["b"]
        yield "b", waiting["b"], processed_a
        waiting = {"a": [], "b": []}
        for side, table in tables.items():
            held[other_side(side)].drop_before(table.obsolete_before_us(new.now_us))
