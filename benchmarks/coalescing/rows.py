"""Rows that competitors of `coalesce` are given, and what their answers have to agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

GROUPS = 54
SPACING_US = 500  # on average, between one row and the next of any group
GOES_ON = 0.9  # how often a reading repeats the value of the one before it in its group
LEVELS = 100  # different values of readings
STATES = 10  # and of facts
LENGTH_US = 2 * SPACING_US * GROUPS * STATES  # of a fact, on average: two others of its group and value begin in it


@dataclass(frozen=True)
class GroupRows:
    """Columns g, t, v of readings, or g, s, e, v of facts; and the order they stand in.

    Readings hold until the next of their group. Facts are united within their group and value.
    """

    kind: str
    order: str
    columns: Mapping[str, Int64Array]

    @property
    def time_bits(self) -> int:
        return max(int(self.columns[name].max()).bit_length() for name in self.columns if name in "tse")


def group_rows(kind: str, order: str, rows: int) -> GroupRows:
    """Return random rows, the same in every order; no two start together."""
    rng = np.random.default_rng(6)
    start, group = np.cumsum(rng.integers(1, 2 * SPACING_US, rows)), rng.integers(0, GROUPS, rows)
    if kind == "readings":
        columns = {"g": group, "t": start, "v": _values_that_go_on(rng, group)}
    else:
        length = 1 + rng.exponential(LENGTH_US, rows).astype(np.int64)
        columns = {"g": group, "s": start, "e": start + length, "v": rng.integers(0, STATES, rows)}
    stand = _standing(rng, order, group)
    return GroupRows(kind, order, {name: column.take(stand) for name, column in columns.items()})


def _standing(rng: np.random.Generator, order: str, group: Int64Array) -> npt.NDArray[np.intp]:
    if order == "shuffled":
        return rng.permutation(len(group))
    return np.argsort(group, kind="stable") if order == "by group and time" else np.arange(len(group))


def _values_that_go_on(rng: np.random.Generator, group: Int64Array) -> Int64Array:
    by_group = np.argsort(group, kind="stable")
    changes = np.append(True, np.diff(group[by_group]) != 0)
    changes |= rng.random(len(group)) >= GOES_ON
    value = np.empty_like(group)
    value[by_group] = rng.integers(0, LEVELS, len(group))[np.flatnonzero(changes)[np.cumsum(changes) - 1]]
    return value


def sums_of(answer: tuple[Any, ...]) -> tuple[int, ...]:
    """Return how many runs there are, and the sums of group, start, end and value."""
    if len(answer) == 5:
        return tuple(int(each) for each in answer)
    columns = [np.asarray(column).astype(np.int64) for column in answer]
    return len(columns[0]), *(int(column.sum()) for column in columns)
