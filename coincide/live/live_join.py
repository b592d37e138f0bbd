"""LiveJoin: what the streaming joins of one query have in common, an engine with that query alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.joins.answers import Pairs, Tuples
from coincide.joins.detections import Detections
from coincide.live.answer_blocks import AnswerBlocks
from coincide.live.engine import Condition, Engine
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import PairLimits
from coincide.stream import Stream

Rows = TypeVar("Rows", Pairs, Tuples)

ONLY = "join"


class LiveJoin(Generic[Rows]):
    """One query over its streams."""

    def __init__(
        self,
        streams: Iterable[Stream],
        condition: Condition,
        *,
        max_buffered: int | None,
        pair_limits: PairLimits,
        keyed: bool = False,
        orders_ties: bool = True,
    ) -> None:
        self._engine = Engine(
            streams, keyed=keyed, max_buffered=max_buffered, pair_limits=pair_limits, orders_ties=orders_ties
        )
        self._engine.install(ONLY, condition)

    def _pushed(self, stream: str, detections: Detections, key: npt.ArrayLike | None = None) -> Changes[Rows]:
        changes = self._engine.push(stream, detections, key)[ONLY]
        if error := self._engine.suspended.get(ONLY):
            self._engine.resume(ONLY)
            raise error
        return cast("Changes[Rows]", changes)

    def _pushed_blocks(
        self, stream: str, detections: Detections, key: npt.ArrayLike | None = None
    ) -> AnswerBlocks[Changes[Rows]]:
        blocks = self._engine.push_blocks(stream, detections, key)

        def only() -> Iterator[Changes[Rows]]:
            for _, changes in blocks:
                yield cast("Changes[Rows]", changes)
            if error := self._engine.suspended.get(ONLY):
                self._engine.resume(ONLY)
                raise error

        return AnswerBlocks(only(), blocks.close)

    @property
    def dropped(self) -> int:
        """Events that `max_buffered` dropped while they might still have found partners."""
        return self._engine.dropped

    def advance(self, watermark_us: npt.ArrayLike, area: npt.ArrayLike | None = None) -> int:
        """Let time come to `watermark_us` though no event came; see `Engine.advance`."""
        return self._engine.advance(watermark_us, area)

    def forget(self, area: npt.ArrayLike) -> int:
        """Drop all events of some areas, whatever may still come; see `Engine.forget`."""
        return self._engine.forget(area)

    def flush(self) -> int:
        """Drop all events, as nothing will come that could match them; return how many."""
        return self._engine.flush()

    def buffered(self, stream: str) -> int:
        """How many events of a stream are buffered."""
        return self._engine.buffered(stream)

    @property
    def templates_known(self) -> int:
        """How many templates are known: of the events buffered, and some that wait to be forgotten."""
        return self._engine.templates_known

    @property
    def look_ups(self) -> LookUps:
        """Hits and misses of the caches of template pairs, and their size; nothing while tables will do."""
        return self._engine.look_ups(ONLY)

    def watermark_us(self, area: int | str | None = None) -> int:
        """How far an area has come (without areas: everything); BEFORE_ALL_US if nothing has been seen of it."""
        return self._engine.watermark_us(area)
