"""The law of names: which files of a folder of the archive count.

A file is named after the micro-batches of which it holds all rows of its folder: ``batch-N-P-S.parquet`` those of batch
N from Kafka partition P, S-th part; ``merged-N-M.parquet`` those of the batches from N up to M, M not included. A file
counts unless a merged file covers all its batches. So the step that puts a merged file in place of others is the one
rename that gives it its name. What a crash leaves behind is told by names alone.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_NAME = re.compile(r"(?:batch-(?P<batch>\d{12})-\d+-\d+|merged-(?P<first>\d{12})-(?P<stop>\d{12}))\.parquet")


class FileName(NamedTuple):
    """A file of the archive: its name, and the batches that it covers, from `first` up to `stop`, not included."""

    name: str
    first: int
    stop: int
    is_merged: bool

    def is_superseded_by(self, other: "FileName") -> bool:
        """Whether a merged file holds all its rows."""
        covers = other.is_merged and other.first <= self.first and self.stop <= other.stop
        return covers and other.name != self.name and not (self.is_merged and self[1:] == other[1:])


def batch_file(batch: int, partition: int, part: int) -> str:
    """Return the name of a file that a batch writes."""
    return f"batch-{batch:012d}-{partition}-{part}.parquet"


def merged_file(first: int, stop: int) -> str:
    """Return the name of the file with all rows of the batches from `first` up to `stop`, not included."""
    return f"merged-{first:012d}-{stop:012d}.parquet"


def parsed(name: str) -> FileName | None:
    """Return what a name says; None if it is no file of the archive.

    Examples
    --------
    >>> parsed("batch-000000000007-3-0.parquet")
    FileName(name='batch-000000000007-3-0.parquet', first=7, stop=8, is_merged=False)
    """
    matched = _NAME.fullmatch(name)
    if matched is None:
        return None
    if matched["batch"] is not None:
        return FileName(name, int(matched["batch"]), int(matched["batch"]) + 1, is_merged=False)
    return FileName(name, int(matched["first"]), int(matched["stop"]), is_merged=True)


def files_in(names: Iterable[str]) -> list[FileName]:
    """Return the files of the archive among names, in the order of their batches."""
    files = [file for file in map(parsed, names) if file is not None]
    return sorted(files, key=lambda file: (file.first, -file.stop, file.name))


def counting(files: Iterable[FileName]) -> list[FileName]:
    """Return the files that count.

    Examples
    --------
    >>> names = [batch_file(1, 0, 0), batch_file(2, 0, 0), batch_file(3, 0, 0), merged_file(1, 3)]
    >>> [file.name[:7] for file in counting(files_in(names))]
    ['merged-', 'batch-0']
    """
    files = list(files)
    merged = [file for file in files if file.is_merged]
    return [file for file in files if not any(file.is_superseded_by(other) for other in merged)]
