"""Random template histograms, as many as the PTJoin paper's Example 5 wants."""

from __future__ import annotations

import numpy as np

from coincide import Histogram


def random_templates(count: int, longest_ms: int, seed: int) -> list[Histogram]:
    """Templates of detection latency: 4 to 8 buckets, 1/5 to 1 times `longest_ms` long, any masses."""
    random = np.random.default_rng(seed)
    return [_latency(random, int(random.integers(longest_ms // 5, longest_ms + 1))) for _ in range(count)]


def _latency(random: np.random.Generator, length_ms: int) -> Histogram:
    buckets = int(random.integers(4, 9))
    inner_ms = 1 + random.choice(length_ms - 1, buckets - 1, replace=False)
    edges_ms = np.sort(np.concatenate(([0, length_ms], inner_ms))) - length_ms
    return Histogram(edges_ms / 1e3, random.dirichlet(np.ones(buckets)))
