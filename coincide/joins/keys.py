"""Sortable keys of (area, time), so that many areas live in one sorted array, and fast look-ups in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray

KeyArray = npt.NDArray[Any]

GREATEST_KEY = 2**63 - 1
WIDEST_BITS = 55  # holds every such time shifted by every offset the library can make


def one_area(rows: int) -> CodeArray:
    """Return code 0 for every row, without memory for it."""
    return np.broadcast_to(np.int32(0), rows)


def brief(codes: CodeArray) -> CodeArray:
    """Return one row for all if the column is one value without memory: arithmetic broadcasts it."""
    return codes[:1] if codes.strides == (0,) else codes


@dataclass(frozen=True)
class PackedKeys:
    """8-byte keys: the area code above `time_bits` bits that count microseconds from `base_us`.

    With 55 bits every time from 1898 to 2112 fits and 256 areas do; with fewer bits more areas share a
    narrower span around the times in hand (46 bits: 131,072 areas within 2.2 years).
    """

    time_bits: int = WIDEST_BITS
    base_us: int = -(2 ** (WIDEST_BITS - 1))

    @property
    def _areas(self) -> int:
        return 1 << (63 - self.time_bits)

    def encode(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys of stored events, int64 (n,)."""
        return time_us + ((brief(area).astype(np.int64) << self.time_bits) - self.base_us)

    def encode_bound(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys to search for; times are clipped to the span, areas beyond the greatest lie behind everything."""
        if len(time_us) == 1:
            return np.array([self._bound(int(area[0]), int(time_us[0]))])
        area = brief(area)
        keys = time_us - self.base_us
        np.maximum(keys, 0, out=keys)
        np.minimum(keys, (1 << self.time_bits) - 1, out=keys)
        keys += area.astype(np.int64) << self.time_bits
        beyond = area >= self._areas
        return np.where(beyond, GREATEST_KEY, keys) if beyond.any() else keys

    def _bound(self, area: int, time_us: int) -> int:
        if area >= self._areas:
            return GREATEST_KEY
        return (area << self.time_bits) + min(max(time_us - self.base_us, 0), (1 << self.time_bits) - 1)

    def area(self, keys: KeyArray) -> CodeArray:
        """Area codes, int32 (n,)."""
        return (keys >> self.time_bits).astype(np.int32)

    def time_us(self, keys: KeyArray) -> Int64Array:
        """Return times in microseconds since the epoch, int64 (n,)."""
        times: Int64Array = (keys & ((1 << self.time_bits) - 1)) + self.base_us
        return times

    def offset_us(self, keys: KeyArray, from_keys: KeyArray) -> Int64Array:
        """Offsets, int64 (n,); exact even if `from_keys` are of times that do not fit (int64 wraps back)."""
        offsets: Int64Array = keys - from_keys
        return offsets

    def fits(self, greatest_area: int, earliest_us: int, latest_us: int) -> bool:
        """Whether the area and both times can be encoded; one step is left free at either end for bounds."""
        span = 1 << self.time_bits
        return greatest_area < self._areas and earliest_us - self.base_us > 0 and latest_us - self.base_us < span - 1


@dataclass(frozen=True)
class WideKeys:
    """16-byte keys for what 8 bytes cannot hold: complex numbers, which numpy orders by real, then imaginary part.

    Exact: float64 holds every integer up to 2**53, and no area code or time is beyond 2**52.
    """

    def encode(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys of stored events, complex128 (n,)."""
        keys = np.empty(len(time_us), np.complex128)
        keys.real = area
        keys.imag = time_us
        return keys

    def encode_bound(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys to search for; rounding beyond 2**53 cannot matter, since no event lies there."""
        return self.encode(area, time_us)

    def area(self, keys: KeyArray) -> CodeArray:
        """Area codes, int32 (n,)."""
        return keys.real.astype(np.int32)

    def time_us(self, keys: KeyArray) -> Int64Array:
        """Return times in microseconds since the epoch, int64 (n,)."""
        times: Int64Array = keys.imag.astype(np.int64)
        return times

    def offset_us(self, keys: KeyArray, from_keys: KeyArray) -> Int64Array:
        """Offsets, int64 (n,)."""
        offsets: Int64Array = (keys.imag - from_keys.imag).astype(np.int64)
        return offsets

    def fits(self, greatest_area: int, earliest_us: int, latest_us: int) -> bool:  # noqa: ARG002 - as PackedKeys
        """Every area and every allowed time fits."""
        return True


AreaKeys = PackedKeys | WideKeys  # (area, time) as a number whose order is area first, then time


def narrowest_keys(greatest_area: int, earliest_us: int, latest_us: int) -> AreaKeys:
    """Return the keys to use for areas up to `greatest_area` and times in [`earliest_us`, `latest_us`].

    8 bytes where they hold four times that span (so that keys are rarely chosen anew), else 16.
    """
    time_bits = min(WIDEST_BITS, 63 - max(greatest_area, 1).bit_length())
    if time_bits == WIDEST_BITS:
        return PackedKeys()
    span = latest_us - earliest_us + 1
    if 4 * span > 1 << time_bits:
        return WideKeys()
    centre = earliest_us + span // 2
    return PackedKeys(time_bits, centre - (1 << (time_bits - 1)))


Side = Literal["left", "right"]
Search = Callable[[KeyArray, Side], PositionArray]  # np.searchsorted in keys given before

LEAST_KEYS = 1024
CELLS_PER_KEY = 2
STEPS = 4  # from the first key of a cell; what is further on is searched


def search_in(keys: KeyArray, bounds: int) -> Search:
    """Return the fastest way to find that many bounds among sorted keys."""
    if len(keys) >= LEAST_KEYS and bounds * 2 >= len(keys) and keys.dtype == np.int64:
        grid = KeyGrid.over(keys)
        if not grid.is_crowded:
            return grid.positions
    return keys.searchsorted


@dataclass(frozen=True, eq=False)
class KeyGrid:
    """Cells of equal length, and for each the position of its first key.

    A search mispredicts branches at its last levels; reading the cell's first position and stepping on has none.
    `keys` are sorted, at least 0; the greatest int64 follows them. Cells are ``2 ** shift`` long from ``keys[0]`` on.
    `first` counts the keys before each cell, and at its end all. Where most cells with a key have more than two, the
    grid `is_crowded`: then searching is faster.
    """

    keys: Int64Array
    shift: int
    first: PositionArray
    is_crowded: bool

    @classmethod
    def over(cls, keys: Int64Array) -> KeyGrid:
        """Lay two to four cells a key between the first and the last of at least one key."""
        span = int(keys[-1] - keys[0])
        shift = max(0, (span // (CELLS_PER_KEY * len(keys))).bit_length() - 1)
        following = keys - keys[0]
        following >>= shift
        following += 1  # counted in the next cell, so that sums count what lies before
        keys_in = np.bincount(following)
        is_crowded = bool(2 * np.count_nonzero(keys_in) < len(keys))
        return cls(np.append(keys, np.iinfo(np.int64).max), shift, np.cumsum(keys_in), is_crowded)

    def positions(self, bounds: KeyArray, side: Side) -> PositionArray:
        """Return ``np.searchsorted(keys, bounds, side)`` for bounds of at least 0, in any order."""
        cell = bounds - self.keys[0]
        cell >>= self.shift
        at: PositionArray = self.first.take(cell, mode="clip")
        is_before = np.less if side == "left" else np.less_equal
        rows = np.flatnonzero(is_before(self.keys.take(at, mode="clip"), bounds))
        sought, here = bounds.take(rows), at.take(rows)
        for _ in range(STEPS):
            here += 1
            at[rows] = here
            onwards = np.flatnonzero(is_before(self.keys.take(here, mode="clip"), sought))
            rows, sought, here = rows.take(onwards), sought.take(onwards), here.take(onwards)
        at[rows] = np.searchsorted(self.keys[:-1], sought, side)
        return at
