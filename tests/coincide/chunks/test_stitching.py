"""Runs stitched across chunks are those of all rows at once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Bounded, Equal, Increasing, Quantised, Runs, coalesce, coalesce_readings
from coincide.chunks.stitching import ChunkCoalescing, ChunkRuns
from coincide.coalescing import Equivalence
from tests.examples import examples

EQUIVALENCES = (Equal(), Bounded(1.0), Increasing(), Quantised(2.0))
VALUES = (1.0, 2.0, 0.0, 3.0, 1.0, 2.0, float("nan"))
Row = tuple[int, int, str, float]  # start, length, group, value

LENGTHS = (1, 2, 2, 5, 0, 30)
row_of = st.tuples(st.integers(-9, 9), st.sampled_from(LENGTHS), st.sampled_from("aaab"), st.sampled_from(VALUES))
rows = st.one_of(st.lists(row_of, min_size=8, max_size=30), st.lists(row_of, max_size=8))
chunk_lengths = st.integers(1, 9)


def chunked(how: ChunkCoalescing, given_rows: list[Row], chunk_us: int, *, valued: bool, seed: int) -> Runs:
    """Coalesce each chunk of time for itself, some chunks together, and stitch the parts in an order of chance."""
    rng = np.random.default_rng(seed)
    start, length, group, value = columns(given_rows)
    ids = np.arange(len(start))
    chunk = start // chunk_us
    task = chunk % 3
    parts = []
    for each in range(3):
        mine = rng.permutation(np.flatnonzero(task == each))
        ends = None if how.of_readings else (start + length)[mine]
        of_value = value[mine] if valued else None
        parts.append(how.parts(start[mine], ends, group[mine], chunk[mine], ids[mine], of_value))
    return how.stitched(joined(parts, rng))


def columns(given_rows: list[Row]) -> tuple[Any, ...]:
    start, length, group, value = zip(*given_rows, strict=True) if given_rows else ((), (), (), ())
    return np.array(start, np.int64), np.array(length, np.int64), np.array(group, "U1"), np.array(value, np.float64)


def joined(parts: list[ChunkRuns], rng: np.random.Generator) -> ChunkRuns:
    def column(name: str) -> Any:
        columns = [getattr(part.runs, name) for part in parts]
        return None if columns[0] is None else np.concatenate(columns)

    names = ("start_us", "end_us", "group", "value", "count", "first", "last", "is_open")
    runs = Runs(*(column(name) for name in names))
    order = rng.permutation(len(runs))
    value = [part.last_value for part in parts if part.last_value is not None]
    last_value = np.concatenate(value)[order] if value else None
    last = (np.concatenate([getattr(part, name) for part in parts]) for name in ("last_start_us", "last_end_us"))
    return ChunkRuns(runs.take(order), last_value, *(each[order] for each in last))


@pytest.mark.parametrize("equivalence", EQUIVALENCES, ids=str)
@pytest.mark.parametrize("valued", [True, False])
def test_facts(equivalence: Equivalence, valued: bool) -> None:
    @settings(max_examples=examples(25))
    @given(rows, chunk_lengths, st.integers(0, 4), st.integers(0, 9))
    def holds(given_rows: list[Row], chunk_us: int, gap_us: int, seed: int) -> None:
        given_rows = sorted(given_rows, key=lambda row: row[0])  # ids are positions: ties stay as they are
        start, length, group, value = columns(given_rows)
        expected = coalesce(start, start + length, group, value if valued else None, equivalence, gap_us)
        how = ChunkCoalescing(equivalence, gap_us)
        assert_alike(chunked(how, given_rows, chunk_us, valued=valued, seed=seed), expected)

    holds()


@pytest.mark.parametrize("equivalence", EQUIVALENCES, ids=str)
@pytest.mark.parametrize("valued", [True, False])
def test_readings(equivalence: Equivalence, valued: bool) -> None:
    @settings(max_examples=examples(25))
    @given(rows, chunk_lengths, st.sampled_from([None, 0, 1, 3, 20]), st.integers(0, 9))
    def holds(given_rows: list[Row], chunk_us: int, hold_us: int | None, seed: int) -> None:
        start, _, group, value = columns(given_rows)
        expected = coalesce_readings(start, group, value if valued else None, equivalence, hold_us)
        how = ChunkCoalescing(equivalence, hold_us=hold_us, of_readings=True)
        assert_alike(chunked(how, given_rows, chunk_us, valued=valued, seed=seed), expected)

    holds()


def assert_alike(found: Runs, expected: Runs) -> None:
    for name in ("start_us", "end_us", "group", "count", "first", "last", "is_open"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert (found.value is None) == (expected.value is None)
    if found.value is not None and expected.value is not None:
        np.testing.assert_array_equal(found.value, expected.value)
