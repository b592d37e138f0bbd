"""The slow obvious twin of coincide.templates.learning: every choice of edges, by recursion; no equal samples."""

import math
from functools import cache
from itertools import pairwise


def best_blocks(samples_s: list[float], buckets: int) -> tuple[list[float], float]:
    """Edges of at most `buckets` blocks of the greatest log-likelihood less cost, and that."""
    ordered = sorted(samples_s)
    edges = [ordered[0], *((a + b) / 2 for a, b in pairwise(ordered)), ordered[-1]]
    cost = 4 - math.log(73.53 * 0.05 * len(ordered) ** -0.478)

    @cache
    def best(end: int, left: int) -> tuple[float, tuple[int, ...]]:
        """Best split of the first `end` samples into at most `left` blocks."""
        if end == 0:
            return 0.0, (0,)
        if left == 0:
            return -math.inf, ()
        choices = []
        for start in range(end):
            count, length = end - start, edges[end] - edges[start]
            before, chosen = best(start, left - 1)
            choices.append((before + count * math.log(count / length) - cost, (*chosen, end)))
        return max(choices)

    gain, chosen = best(len(ordered), buckets)
    return [edges[n] for n in chosen], gain
