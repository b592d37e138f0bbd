"""AreaKeys: (area, time) as one sortable number, so that many areas live in one sorted array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coincide.arrays import CodeArray, Int64Array

KeyArray = npt.NDArray[Any]

EARLIEST_TIME_US = -(2**51)  # the year 1898
LATEST_TIME_US = 2**52  # the year 2112
WIDEST_BITS = 55  # holds every such time shifted by every offset the library can make


class AreaKeys(Protocol):
    """One way to write (area, time) as a number whose order is area first, then time."""

    def encode(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys of stored events; their times are known to fit."""
        ...

    def encode_bound(self, area: CodeArray, time_us: Int64Array) -> KeyArray:
        """Keys to search for: a time beyond what can be stored stays inside its own area."""
        ...

    def area(self, keys: KeyArray) -> CodeArray:
        """Return the area codes."""
        ...

    def time_us(self, keys: KeyArray) -> Int64Array:
        """Return the times."""
        ...

    def offset_us(self, keys: KeyArray, from_keys: KeyArray) -> Int64Array:
        """Time from each of `from_keys` to its fellow in `keys`, which lies in the same area."""
        ...

    def fits(self, greatest_area: int, earliest_us: int, latest_us: int) -> bool:
        """Whether such areas and times can be encoded without wrapping."""
        ...


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
        area = brief(area)
        keys = time_us - self.base_us
        np.maximum(keys, 0, out=keys)
        np.minimum(keys, (1 << self.time_bits) - 1, out=keys)
        keys += area.astype(np.int64) << self.time_bits
        beyond = area >= self._areas
        return np.where(beyond, np.iinfo(np.int64).max, keys) if beyond.any() else keys

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

    def fits(self, greatest_area: int, earliest_us: int, latest_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Every area and every allowed time fits."""
        return True


def narrowest_keys(greatest_area: int, earliest_us: int, latest_us: int) -> AreaKeys:
    """Return the keys to use for areas up to `greatest_area` and times in [`earliest_us`, `latest_us`].

    8 bytes where they hold four times that span (so that keys are rarely chosen anew), else 16.

    Examples
    --------
    >>> narrowest_keys(0, 0, 10)
    PackedKeys(time_bits=55, base_us=-18014398509481984)
    >>> narrowest_keys(100_000, 0, 10).time_bits
    46
    >>> narrowest_keys(100_000, -(2**50), 2**52)
    WideKeys()
    """
    time_bits = min(WIDEST_BITS, 63 - max(greatest_area, 1).bit_length())
    if time_bits == WIDEST_BITS:
        return PackedKeys()
    span = latest_us - earliest_us + 1
    if 4 * span > 1 << time_bits:
        return WideKeys()
    centre = earliest_us + span // 2
    return PackedKeys(time_bits, centre - (1 << (time_bits - 1)))
