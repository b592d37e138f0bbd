"""AnswerBlocks: the answer to one push in parts, which must be read or closed before anything else happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Block = TypeVar("Block")


class AnswerBlocks(Iterator[Block]):
    """Blocks of an answer; `end` is called once, when they are read to the end, closed or dropped."""

    def __init__(self, blocks: Iterator[Block], end: Callable[[], None]) -> None:
        self._blocks, self._end, self._is_open = blocks, end, True

    def __next__(self) -> Block:
        try:
            return next(self._blocks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the remaining blocks unread; what they would have answered is lost."""
        if self._is_open:
            self._is_open, self._blocks = False, iter(())
            self._end()

    def __del__(self) -> None:
        self.close()
