"""SearchWork: what a search tells of its work while it goes on, so that whoever asks can end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from coincide.arrays.kinds import Int64Array

Thing = TypeVar("Thing")


class SearchWork:
    """Lets a search take whatever it takes. What one of its methods raises ends the search."""

    is_bounded = False

    def check(self) -> None:
        """Take note that a block of work begins; none takes longer than about a second."""

    def complete(self, last: Int64Array) -> None:
        """Take candidates by the ref of their last members, shape (n,), before they are judged all together."""

    def look_at(self, candidates: int) -> None:
        """Take a number of candidates that are looked at next, and counted by the search itself."""

    def hold(self, count: int) -> None:
        """Take how many more pairs or sets are kept in memory."""

    def end(self) -> None:
        """Take note that all candidates are counted, and none has been judged yet."""


WHATEVER_IT_TAKES = SearchWork()


def checked(things: Iterable[Thing], at_once: int, check: Callable[[], None]) -> Iterator[Thing]:
    """Yield the things; `check` is called once the first of each `at_once` of them is there."""
    for nth, thing in enumerate(things):
        if nth % at_once == 0:
            check()
        yield thing


def blocks(count: int, at_once: int, check: Callable[[], None]) -> Iterator[slice]:
    """Yield slices of `at_once` things of `count`; `check` is called before each."""
    for first in range(0, count, at_once):
        check()
        yield slice(first, first + at_once)
