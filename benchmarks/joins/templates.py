"""Random templates."""

from __future__ import annotations

import numpy as np

from coincide import Histogram


def uneven_template(rng: np.random.Generator, least_buckets: int = 4) -> Histogram:
    """Draw a template of up to 8 buckets, each 0.5 to 5 s long."""
    buckets = int(rng.integers(least_buckets, 9))
    edges_s = np.cumsum(rng.uniform(0.5, 5.0, buckets + 1))
    return Histogram(edges_s - rng.uniform(0.0, edges_s[-1]), rng.dirichlet(np.ones(buckets)))


def templates_of(rng: np.random.Generator, buckets: int, count: int = 20) -> list[Histogram]:
    """Draw templates of about 8 s, however many buckets they have."""
    lengths = rng.uniform(0.5, 1.5, (count, buckets)) * 8 / buckets
    edges_s = np.concatenate((np.zeros((count, 1)), np.cumsum(lengths, axis=1)), axis=1) - 4
    return [Histogram(edges, rng.dirichlet(np.ones(buckets))) for edges in edges_s]
