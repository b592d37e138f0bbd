"""What a benchmark declares: sizes, our work, its peers; and how the declaration becomes a table.

A `Contest` puts us beside peers that answer the same question: ratios come first. `Costs` says what one item costs, a
column for each way. Whatever fits neither makes its own `Table`. A size is a named tuple: its fields are the first
columns of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from benchmarks.harness.rounds import Work, fastest, take_turns

OURS = "coincide"
Size = TypeVar("Size", bound="tuple[Any, ...]")
Question = TypeVar("Question")


class Options(NamedTuple):
    """What the command line says."""

    quick: bool = False
    rounds: int | None = None
    peers: Sequence[str] | None = None
    threads: int = 1
    postgres: str | None = None
    picture: Path | None = None
    again: bool = False

    def rounds_of(self, usual: int) -> int:
        return self.rounds or (1 if self.quick else usual)


@dataclass(frozen=True)
class Table:
    """A table whose rows may be measured one after the other while it is printed; a row is cells, or Markdown."""

    headings: Sequence[str]
    rows: Iterable[Sequence[Any] | str]
    title: str = ""

    def lines(self) -> Iterator[str]:
        if self.title:
            yield f"{self.title}\n"
        yield f"| {' | '.join(self.headings)} |"
        yield "|---" * len(self.headings) + "|"
        for row in self.rows:
            yield row if isinstance(row, str) else f"| {' | '.join(map(cell, row))} |"


def cell(value: Any) -> str:
    """Return numbers as people read them, and all else as it is."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Peer(Generic[Question]):
    """Somebody who answers the same question.

    Attributes
    ----------
    plans : callable
        Takes the question and the options, and yields ways to do it; the fastest of them, tried once, competes.
    needs : str or None
        The package without which it stays away.
    usual : bool
        Whether it competes when nobody names it.
    """

    name: str
    plans: Callable[[Question, Options], Iterable[Work]]
    needs: str | None = None
    usual: bool = True

    def competes(self, options: Options) -> bool:
        named = self.usual if options.peers is None else self.name in options.peers
        return named and (self.needs is None or find_spec(self.needs) is not None)


@dataclass(frozen=True)
class Contest(Generic[Size, Question]):
    """We and our peers answer the same question; all answers must agree.

    Attributes
    ----------
    counts : str
        What the first number of an answer counts.
    """

    sizes: Sequence[Size]
    quick: Sequence[Size]
    question: Callable[[Size], Question]
    ours: Callable[[Question, Options], Iterable[Work]]
    peers: Sequence[Peer[Question]]
    counts: str
    rounds: int = 5
    title: str = ""

    def __call__(self, options: Options) -> Iterator[Table]:
        """Yield ratios to us, then everybody's seconds."""
        makers = {OURS: self.ours} | {peer.name: peer.plans for peer in self.peers if peer.competes(options)}
        others = [name for name in makers if name != OURS]
        sizes = self.quick if options.quick else self.sizes
        beside = [*(f"vs {name}" for name in others), *(f"{name} s" for name in makers)]
        rows = (self._row(size, makers, options) for size in sizes)
        yield Table([*_headings(sizes), self.counts, *beside], rows, self.title)

    def _row(self, size: Size, makers: Mapping[str, Any], options: Options) -> list[Any]:
        question, wall = self.question(size), options.threads > 1
        chosen = {name: fastest(plans(question, options), wall=wall) for name, plans in makers.items()}
        found = take_turns(chosen, options.rounds_of(self.rounds), wall=wall, agree=True)
        ours_s = found[OURS].seconds
        ratios = [f"{each.seconds / max(ours_s, 1e-9):.1f}" for name, each in found.items() if name != OURS]
        return [*size, found[OURS].answer[0], *ratios, *(f"{each.seconds:.3f}" for each in found.values())]


@dataclass(frozen=True)
class Costs(Generic[Size]):
    """What one item costs, in microseconds of CPU time; a column for each way.

    Attributes
    ----------
    works : callable
        Takes a size and returns, for each way, how many items there are and the work on all of them.
    shows : str
        Heading of the last column, which shows the first way's answer; empty: nothing is shown.
    """

    item: str
    ways: Sequence[str]
    sizes: Sequence[Size]
    quick: Sequence[Size]
    works: Callable[[Size], Sequence[tuple[int, Work]]]
    shows: str = ""
    rounds: int = 3

    def __call__(self, options: Options) -> Iterator[Table]:
        """Yield the medians of some rounds."""
        sizes = self.quick if options.quick else self.sizes
        headings = [*_headings(sizes), *(f"{way}, µs {self.item}" for way in self.ways)]
        yield Table([*headings, self.shows] if self.shows else headings, (self._row(size, options) for size in sizes))

    def _row(self, size: Size, options: Options) -> list[Any]:
        items, works = zip(*self.works(size), strict=True)
        contestants = dict(zip(self.ways, works, strict=True))
        found = list(take_turns(contestants, options.rounds_of(self.rounds), wall=False, agree=False).values())
        costs = [f"{each.seconds / count * 1e6:.2f}" for each, count in zip(found, items, strict=True)]
        return [*size, *costs, *([f"{found[0].answer:.4g}"] if self.shows else [])]


def _headings(sizes: Sequence[tuple[Any, ...]]) -> list[str]:
    return [field.replace("_", " ") for field in getattr(sizes[0], "_fields", ())]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, as `python -m benchmarks` lists it.

    Attributes
    ----------
    parts : sequence of callable
        Contests, costs, and whatever else takes the options and yields tables.
    keeps_memory : bool
        Whether everybody keeps the memory that they are given (see `surroundings`).
    why_not : callable
        Returns why it cannot run here; None: it can.
    is_service : bool
        Whether it starts services, which takes minutes also when it is quick.
    """

    name: str
    measures: str
    parts: Sequence[Callable[[Options], Iterable[Table]]]
    keeps_memory: bool = False
    why_not: Callable[[], str | None] = lambda: None
    is_service: bool = False

    @property
    def peers(self) -> list[Peer[Any]]:
        """Everybody that any of its contests knows."""
        return [peer for part in self.parts if isinstance(part, Contest) for peer in part.peers]

    def tables(self, options: Options) -> Iterator[Table]:
        for part in self.parts:
            yield from part(options)
