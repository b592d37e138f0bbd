"""A window extent of one group in order, tuple by tuple: runs are lists, and every operation is counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class CountedExtent:
    """An extent of `w` tuples that coalesces eagerly."""

    w: int
    runs: list[list[int]] = field(default_factory=list)
    work: Counter[str] = field(default_factory=Counter)

    def push(self, tuple_number: int, *, links: bool) -> None:
        """Take a tuple that coalesces with the one before it, if it is there."""
        if links and self.runs:
            self.runs[-1].append(tuple_number)
            self.work["merge"] += 1
        else:
            self.runs.append([tuple_number])
            self.work["insert_run"] += 1
        if sum(map(len, self.runs)) > self.w:
            self.runs[0].pop(0)
            self.work["detach" if self.runs[0] else "delete_run"] += 1
            self.runs = [run for run in self.runs if run]


def extents(links: Sequence[int], w: int) -> list[tuple[int, int, Counter[str]]]:
    """Return after each tuple the number of runs, that of further timestamps, and the work so far."""
    extent, seen = CountedExtent(w), []
    for number, link in enumerate(links):
        extent.push(number, links=bool(link))
        seen.append((len(extent.runs), sum(map(len, extent.runs)) - len(extent.runs), extent.work.copy()))
    return seen
