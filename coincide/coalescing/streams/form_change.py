"""FormChange: an extent takes another form little by little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from coincide.coalescing.streams.extent import ReadingBatch

SLICE = 1024  # readings that one push moves


class ReadingForm(Protocol):
    """How an extent keeps its readings."""

    def slices(self, rows: int) -> Iterator[ReadingBatch]:
        """Yield all readings, about so many at once; in between, readings may come and leave."""

    def fill(self, batch: ReadingBatch) -> object:
        """Take readings; nobody asks what they change."""


New = TypeVar("New", bound=ReadingForm)


class FormChange(Generic[New]):
    """Moves the readings of an extent to another form, some with each push.

    Which readings an extent holds depends on those that came, never on their order. So the new form takes what is
    pushed meanwhile, too. Once it has had every reading of the old form as well, both are the same.
    """

    def __init__(self, old: ReadingForm, new: New) -> None:
        self._slices = old.slices(SLICE)
        self.new = new

    def step(self) -> bool:
        """Move some more readings; return whether all have moved."""
        for part in self._slices:
            self.new.fill(part)
            if len(part.ts_us) >= SLICE:
                return False
        return True
