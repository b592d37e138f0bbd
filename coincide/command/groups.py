"""Groups: the columns that name one, as numbers in the order of their texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays import Int64Array

MOST_CODES = 1 << 31


def group_codes(by: Sequence[pa.Array], rows: int) -> Int64Array:
    """Return a code for each row, int64 (rows,): equal where all columns are, in the order of the columns' texts."""
    codes, combinations = np.zeros(rows, np.int64), 1
    for column in by:
        ranks, many = text_ranks(column)
        codes, combinations = codes * many + ranks, combinations * many
        if combinations > MOST_CODES:
            found, codes = np.unique(codes, return_inverse=True)
            combinations = len(found)
    return codes


def text_ranks(column: pa.Array) -> tuple[Int64Array, int]:
    """Return the place of each value among the different ones by their text, and how many there are.

    Empty ones come last.

    Examples
    --------
    >>> text_ranks(pa.array([10, 9, None, 10]))[0].tolist()
    [0, 1, 2, 0]
    """
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary.cast(pa.large_string())).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    return rank[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)], max(len(order), 1)
