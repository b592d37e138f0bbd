"""SampleCells: sorted samples cut into the small cells that a histogram's buckets may be made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray

CELLS = 256  # equally many samples in each; the search over them is quadratic
CELLS_AT_EITHER_END = 32  # one sample in each, so that outliers cannot stretch a bucket
SHORTEST_CELL_S = 2e-6
ATOM_SHARE = 0.05  # an atom is a value with at least this share of the samples
ATOM_EXCESS = 5  # and so many times as many as either neighbouring value: values that are merely rounded have not
FEW_VALUES = 8
LONG_GAP = 10  # or beside so many times the median gap between values: rounded ones lie as far apart as their digits


@dataclass(frozen=True)
class SampleCells:
    """Cell n has samples_below[n + 1] - samples_below[n] samples between edges_s[n] and edges_s[n + 1].

    A value that at least five samples and 5 % of them have becomes an atom if it is there five times as often as either
    neighbouring value, or beside a gap ten times the median one, or if the values are few: at most 8, and all fit into
    the buckets as atoms (n of them take 2 n - 1). Values that are merely rounded, many and evenly far apart, do not.

    Edges lie midway between samples, so a cell across a long gap has the samples on either side of it. Equal neighbours
    bound an atom; all others lie 2 us apart.
    """

    edges_s: FloatArray
    samples_below: IndexArray

    @classmethod
    def of(cls, ordered: FloatArray, most_buckets: int) -> SampleCells:
        """Cut samples in ascending order, the first and last of which lie at least 2 us apart.

        The atoms and what lies between them make at most `most_buckets` buckets.
        """
        atoms = _atoms(ordered, most_buckets)
        start, left = 0, float(ordered[0])
        edges, below = [left], [0]
        for atom in [*atoms, None]:
            right = float(ordered[-1]) if atom is None else atom
            # samples next to an atom are the atom's
            stop = len(ordered) if atom is None else int(np.searchsorted(ordered, atom - SHORTEST_CELL_S, "right"))
            for border in _borders(ordered[start:stop], left, right, share=(stop - start) / len(ordered)):
                edges.append(border)
                below.append(start + int(np.searchsorted(ordered[start:stop], border)))
            if right > left:
                edges.append(right)
                below.append(stop)
            if atom is not None:
                start, left = int(np.searchsorted(ordered, atom + SHORTEST_CELL_S, "left")), atom
                edges.append(atom)
                below.append(start)
        return cls(np.array(edges), np.array(below))


def _atoms(ordered: FloatArray, most_buckets: int) -> list[float]:
    """Return values that are exact times rather than rounded ones, in ascending order."""
    # to the microsecond, so that 0.1 + 0.2 is 0.3
    _, first, counts = np.unique(np.rint(ordered * 1e6), return_index=True, return_counts=True)
    values = ordered[first]
    values[-1] = ordered[-1]
    # so few that no smooth error is behind them, and buckets enough for all as atoms with gaps between them
    are_few = len(values) <= FEW_VALUES and 2 * len(values) - 1 <= most_buckets
    often = counts >= max(ATOM_SHARE * len(ordered), ATOM_EXCESS)
    chosen = np.flatnonzero(often & (are_few | _stands_out(counts) | _stands_apart(values)))
    return _with_room(values[chosen[np.argsort(-counts[chosen], kind="stable")]], values[[0, -1]], most_buckets)


def _stands_out(counts: IndexArray) -> BoolArray:
    """Whether each value repeats far more often than those beside it."""
    beside = np.maximum(np.append(counts[1:], 0), np.insert(counts[:-1], 0, 0))
    stands_out: BoolArray = counts >= ATOM_EXCESS * beside
    return stands_out


def _stands_apart(values: FloatArray) -> BoolArray:
    """Whether beside each value is a gap far longer than the usual one, over which its share must not be spread."""
    gaps = np.diff(values)
    is_long = gaps >= LONG_GAP * np.median(gaps)
    return np.append(is_long, False) | np.insert(is_long, 0, False)


def _with_room(values: FloatArray, ends: FloatArray, most_buckets: int) -> list[float]:
    """Return those of the values, the first ones rather than the last, that there are buckets for."""
    atoms: list[float] = []
    buckets = 1
    for value in values.tolist():
        more = 1 if value in ends else 2  # the atom, and between two ends a second part of what it cuts
        # too close to another, or to the end of all samples, no bucket has room in between
        is_apart = all(value == s or abs(value - s) >= 2 * SHORTEST_CELL_S for s in [*atoms, *ends])
        if is_apart and buckets + more <= most_buckets:
            atoms.append(value)
            buckets += more
    return sorted(atoms)


def _borders(samples_s: FloatArray, left_s: float, right_s: float, share: float) -> list[float]:
    """Choose borders midway between neighbouring samples, apart from one another and from both ends."""
    if len(samples_s) < 2:
        return []
    last = len(samples_s) - 1
    ends = np.arange(min(CELLS_AT_EITHER_END, last))
    rank = np.unique(
        np.concatenate((np.linspace(0, last, max(2, round(CELLS * share))).astype(int), ends, last - ends))
    )
    rank = np.unique(np.searchsorted(samples_s, samples_s[rank], "right") - 1)  # equal samples stay together
    rank = rank[rank < last]
    chosen = [left_s]
    for border in ((samples_s[rank] + samples_s[rank + 1]) / 2).tolist():
        if border - chosen[-1] >= SHORTEST_CELL_S <= right_s - border:
            chosen.append(border)
    return chosen[1:]
