"""What is heard of one sensor, from the list of all that it sent."""

from collections.abc import Sequence
from math import log


def figures(heard: Sequence[tuple[int, bool]], half_life_s: float) -> tuple[float | None, float]:
    """Return rate and late share of (received_at_us, was late), in order; older ones count less."""
    newest_us = heard[-1][0]
    weights = [0.5 ** ((newest_us - at_us) / 1e6 / half_life_s) for at_us, _ in heard]
    late = sum(weight for weight, (_, was_late) in zip(weights, heard, strict=True) if was_late)
    time_s = half_life_s / log(2) * (1 - weights[0])
    return (sum(weights[1:]) / time_s if time_s > 0 else None), late / sum(weights)


def levels(parts: Sequence[int], number: int, most: int) -> list[int]:
    """Return how many levels lie in each part, each count halved whenever there are more than `most`."""
    counts = [0] * number
    for part in parts:
        counts[part] += 1
        if sum(counts) > most:
            counts = [count // 2 for count in counts]
    return counts
