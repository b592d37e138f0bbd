"""Facts of few instants for tests of temporal joins: starts and ends of all kinds coincide."""

import numpy as np
from hypothesis import strategies as st

from coincide.temporal import Facts
from tests.reference.temporal import Fact


def _tied_facts(seed: int, rows: int, instants: int, groups: int, values: int) -> list[Fact]:
    drawn = np.random.default_rng(seed)
    ends = np.sort([drawn.permutation(instants + 1)[:2] for _ in range(rows)])
    labels, numbers = drawn.integers(groups, size=rows), drawn.integers(values, size=rows)
    columns = (ends[:, 0].tolist(), ends[:, 1].tolist(), ["abc"[label] for label in labels], numbers.tolist())
    return list(zip(*columns, strict=True))


def tied_facts(max_rows: int) -> st.SearchStrategy[list[Fact]]:
    """Draw up to so many facts; many of them have more others in a range than a search compares one by one."""
    rows, instants, groups, values = (st.integers(1, most) for most in (max_rows, 9, 3, 6))
    return st.builds(_tied_facts, st.integers(0, 2**32), rows, instants, groups, values)


def facts_of(rows: list[Fact]) -> Facts:
    """Return them in columns."""
    return Facts(*([row[column] for row in rows] for column in range(4)))
