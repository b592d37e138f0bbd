"""Pairs of events of two streams: the kernel, and the join of two whole batches."""
