"""Uncertainty that an event brings itself: sigma_s, or earliest and latest, to an anchor time and a spread.

An event that happened somewhere in [earliest, latest] is the same event whatever its sensor reported, so it is
anchored at earliest, and its template depends on its length alone. Few lengths and sigmas make few templates: the
join's table grows with their square. Where a file holds more than `MOST_SPREADS` of them, they are rounded to the
nearest of a scale with steps of 1 %, which moves no probability by more than 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.instants import TimeUnit
from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.command.faults import RowFaults, ValueRefused
from coincide.command.input.chunks import Chunk, Column
from coincide.command.input.file_columns import read_numbers
from coincide.command.input.file_times import TimeForm, read_optional_instants_us
from coincide.templates.buckets import FURTHEST_EDGE_S
from coincide.templates.histogram import Histogram

MOST_SPREADS = 500
STEP = 1.01
SHORTEST_SIGMA_S, LONGEST_SIGMA_S = 1e-6, 2.5e8  # what Histogram.normal can make of
LONGEST_US = round(FURTHEST_EDGE_S * 1e6)
NO_LENGTH = -1


@dataclass(frozen=True, eq=False)
class OwnUncertainty:
    """For each row: sigma in seconds (NaN: none); the interval's start and length (NO_LENGTH: none), microseconds."""

    sigma_s: FloatArray
    earliest_us: Int64Array
    length_us: Int64Array

    @property
    def given(self) -> BoolArray:
        """Which rows bring their own, bool (n,)."""
        return ~np.isnan(self.sigma_s) | (self.length_us >= 0)

    def take(self, rows: npt.NDArray[Any]) -> OwnUncertainty:
        """Return the given rows."""
        return OwnUncertainty(self.sigma_s[rows], self.earliest_us[rows], self.length_us[rows])


def read_own_uncertainty(chunk: Chunk, faults: RowFaults, *, assume_utc: bool, unit: TimeUnit = "us") -> OwnUncertainty:
    """Read the columns sigma_s, earliest and latest; what is wrong goes to `faults`."""
    rows = len(chunk.row)
    sigma_s = _sigma(chunk.columns.get("sigma_s"), rows, faults)
    starts, ends = (chunk.columns.get(name) for name in ("earliest", "latest"))
    if starts is None and ends is None:
        return OwnUncertainty(sigma_s, np.zeros(rows, np.int64), np.full(rows, NO_LENGTH))
    form: TimeForm = {"assume_utc": assume_utc, "unit": unit}
    earliest_us, has_start = read_optional_instants_us(starts, "earliest", rows, faults, **form)
    latest_us, has_end = read_optional_instants_us(ends, "latest", rows, faults, **form)
    faults.add_all(np.flatnonzero(has_start & ~has_end), "latest: empty: earliest needs it")
    faults.add_all(np.flatnonzero(has_end & ~has_start), "earliest: empty: latest needs it")
    both = has_start & has_end
    faults.add_all(np.flatnonzero(both & (latest_us < earliest_us)), "latest: before earliest")
    too_long = both & (latest_us - earliest_us > LONGEST_US)
    faults.add_all(np.flatnonzero(too_long), f"latest: more than {FURTHEST_EDGE_S:g} s after earliest")
    faults.add_all(np.flatnonzero(both & ~np.isnan(sigma_s)), "sigma_s: either it or earliest and latest")
    return OwnUncertainty(sigma_s, earliest_us, np.where(both, latest_us - earliest_us, NO_LENGTH))


def _sigma(values: Column | None, rows: int, faults: RowFaults) -> FloatArray:
    if values is None:
        return np.full(rows, np.nan)
    sigma_s = read_numbers(values, "sigma_s", faults)
    for position in np.flatnonzero((sigma_s < SHORTEST_SIGMA_S) | (sigma_s > LONGEST_SIGMA_S)).tolist():
        faults.add(position, ValueRefused("sigma_s", float(sigma_s[position]), "seconds, from 1e-6 to 2.5e8"))
    return sigma_s


def spread_templates(own: OwnUncertainty, most: float = MOST_SPREADS) -> tuple[list[Histogram], Int64Array, Int64Array]:
    """Return templates, which of them each row has (-1: none), and how far earliest is moved to anchor it.

    More than `most` of one kind are rounded.
    """
    index = np.full(len(own.sigma_s), -1, np.int64)
    shift_us = np.zeros(len(index), np.int64)
    by_sigma, by_length = ~np.isnan(own.sigma_s), own.length_us >= 0
    sigmas = _rounded(own.sigma_s[by_sigma], SHORTEST_SIGMA_S, LONGEST_SIGMA_S, most)
    sigmas, which = np.unique(sigmas, return_inverse=True)
    index[by_sigma] = which
    lengths = own.length_us[by_length]
    few = np.round(_rounded(lengths.astype(np.float64), 1, LONGEST_US, most)).astype(np.int64)
    shift_us[by_length] = (lengths - few) // 2  # a rounded interval keeps its centre
    few, which = np.unique(few, return_inverse=True)
    index[by_length] = which + len(sigmas)
    normal = [Histogram.normal(sigma_s=sigma_s) for sigma_s in sigmas.tolist()]
    return [*normal, *(Histogram.uniform(0, length_us / 1e6) for length_us in few.tolist())], index, shift_us


def is_rounded(own: OwnUncertainty) -> bool:
    """Whether `spread_templates` has to round."""
    given = (own.sigma_s[~np.isnan(own.sigma_s)], own.length_us[own.length_us >= 0])
    return any(len(np.unique(spreads)) > MOST_SPREADS for spreads in given)


def _rounded(spread: FloatArray, shortest: float, longest: float, most: float) -> FloatArray:
    """Return the spreads; more than `most` are rounded to a scale from `shortest` to `longest`; zero stays zero."""
    if len(np.unique(spread)) <= most:
        return spread
    with np.errstate(divide="ignore"):
        on_scale: FloatArray = STEP ** np.round(np.log(spread) / np.log(STEP))
    return np.where(spread > 0, np.clip(on_scale, shortest, longest), spread)
