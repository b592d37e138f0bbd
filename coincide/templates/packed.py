"""Templates as bytes: what states and caches keep of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.templates.clocked import ClockedHistogram
from coincide.templates.histogram import Histogram

ON_A_CLOCK = 7  # parts: three histograms of two each, and the name of the clock


def packed(template: Histogram) -> tuple[bytes, ...]:
    """Return edges and masses as little-endian float64; of a template on a clock also its own, the error and the name.

    Examples
    --------
    >>> [len(part) for part in packed(Histogram.uniform(-1, 1))]
    [16, 8]
    >>> unpacked(packed(Histogram.uniform(-1, 1)))
    Histogram(edges_s=[-1.0, 1.0], mass=[1.0])
    """
    if isinstance(template, ClockedHistogram):
        return (*_columns(template), *_columns(template.own), *_columns(template.error), template.clock.encode())
    return _columns(template)


def unpacked(parts: Sequence[bytes]) -> Histogram:
    """Return the template that `packed` packed; raises `HistogramError`."""
    if len(parts) < ON_A_CLOCK:
        return _histogram(parts)
    whole, own, error = (_histogram(parts[first : first + 2]) for first in (0, 2, 4))
    return ClockedHistogram(whole, own, parts[6].decode(), error)


def packed_clock(parts: Sequence[bytes]) -> str | None:
    """Return the name of the clock of a template that `packed` packed; None if it is on none."""
    return parts[6].decode() if len(parts) == ON_A_CLOCK else None


def buckets_on_clock(parts: Sequence[bytes]) -> int:
    """Return how many buckets a clock's error has, times how many are the sensor's own, of a packed template."""
    return (len(parts[3]) // 8) * (len(parts[5]) // 8)


def packed_bytes(template: Histogram) -> int:
    """Return about how many bytes a template takes when it is packed, never less."""
    own = sum(map(len, packed(template)[2:])) if isinstance(template, ClockedHistogram) else 0
    return 16 * len(template.edges_s) + own


def _columns(histogram: Histogram) -> tuple[bytes, bytes]:
    return histogram.edges_s.astype("<f8").tobytes(), histogram.mass.astype("<f8").tobytes()


def _histogram(parts: Sequence[bytes]) -> Histogram:
    edges_s, mass = (np.frombuffer(part, "<f8") for part in parts)
    return Histogram(edges_s, mass)
