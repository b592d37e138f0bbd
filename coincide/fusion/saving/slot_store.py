"""SlotStore: slots of what cannot be made anew from rows, numbered downwards, so that they never meet those of rows."""

from __future__ import annotations

from collections.abc import Callable


class SlotStore:
    """Each slot is written once, and dropped with what it holds; one that a batch writes and drops never leaves it."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.live: set[int] = set()
        self.written: dict[int, bytes] = {}  # in this batch
        self.dropped: list[int] = []  # written in an earlier batch and needless now

    def begin(self) -> None:
        """Begin a batch."""
        self.written, self.dropped = {}, []

    def add(self, content: Callable[[int], bytes]) -> int:
        """Write a slot, given what it holds under its number, and return that."""
        number = self.next
        self.next -= 1
        self.live.add(number)
        self.written[number] = content(number)
        return number

    def remove(self, number: int) -> None:
        """Drop a slot."""
        self.live.remove(number)
        if self.written.pop(number, None) is None:
            self.dropped.append(number)
