"""Coalescing in streams: the runs of a window extent, kept eagerly or made when somebody reads them."""

from __future__ import annotations

from coincide.coalescing.streams.extent import WindowExtent
from coincide.coalescing.streams.reading_streams import EagerCoalescing, LazyCoalescing

__all__ = ["EagerCoalescing", "LazyCoalescing", "WindowExtent"]
