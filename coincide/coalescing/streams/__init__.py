"""Coalescing in streams: the runs of a window extent, kept eagerly or made when somebody reads them."""
