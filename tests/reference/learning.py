"""What learning does before it fits anything, in the slowest and most obvious way."""

from collections.abc import Sequence
from math import erf, erfc, exp, pi, sqrt, tan


def clear_errors_s(
    detected_at_us: Sequence[int], reference_us: Sequence[int], lo_us: int, hi_us: int
) -> tuple[dict[int, float], int, int]:
    """Return the error of each detection by its row, and how many are ambiguous and unmatched."""
    references = set(reference_us)
    candidates = [
        [reference for reference in references if lo_us <= reference - time <= hi_us] for time in detected_at_us
    ]
    claims = [reference for found in candidates for reference in found]
    errors, ambiguous = {}, 0
    for row, found in enumerate(candidates):
        if len(found) == 1 and claims.count(found[0]) == 1:
            errors[row] = (found[0] - detected_at_us[row]) / 1e6
        elif found:
            ambiguous += 1
    return errors, ambiguous, candidates.count([])


def consensus(reports: Sequence[tuple[int, float, int]], close: float) -> tuple[list[tuple[float, float]], int]:
    """Return mean and variance of each group of (time, standard deviation, source), and how many have one twice."""
    groups: list[list[tuple[int, float, int]]] = []
    for report in sorted(reports, key=lambda each: each[0]):
        if groups:
            before = groups[-1][-1]
            if report[0] - before[0] <= close * (report[1] ** 2 + before[1] ** 2) ** 0.5:
                groups[-1].append(report)
                continue
        groups.append([report])
    several = [group for group in groups if len(group) > 1]
    usable = [group for group in several if len({source for _, _, source in group}) == len(group)]
    means = []
    for group in usable:
        weights = [1 / std**2 for _, std, _ in group]
        mean = sum(weight * time for weight, (time, _, _) in zip(weights, group, strict=True)) / sum(weights)
        means.append((mean, 1 / sum(weights)))
    return means, len(several) - len(usable)


def others_mean(members: Sequence[tuple[float, float, int]], nth: int) -> tuple[float, float] | None:
    """Return mean and variance by the members (centre, standard deviation, sensor) of other sensors than the nth's.

    All of one sensor count as one: each of k as one whose variance is k times as great.
    """
    sensors = [sensor for _, _, sensor in members]
    others = [(centre, std**2 * sensors.count(sensor)) for centre, std, sensor in members if sensor != members[nth][2]]
    if len({*sensors} - {members[nth][2]}) < 2:
        return None
    total = sum(1 / variance for _, variance in others)
    return sum(centre / variance for centre, variance in others) / total, 1 / total


def others_wrong(deviations: Sequence[Sequence[float]], std: Sequence[float], nth: int) -> tuple[float, float]:
    """Return mean and standard deviation of how wrong all members but the nth are, each independent of the others."""
    others = [other for other in range(len(std)) if other != nth]
    total = sum(1 / std[other] ** 2 for other in others)
    mean = variance = 0.0
    for other in others:
        values, share = deviations[other], 1 / std[other] ** 2 / total
        middle = sum(values) / len(values)
        mean -= share * middle
        variance += share**2 * sum((value - middle) ** 2 for value in values) / len(values)
    return mean, sqrt(variance)


def spread(counts: Sequence[int]) -> tuple[float, float]:
    """Return how wide errors are, each taken in the middle of its part, and how probable that is of even levels."""
    far = [abs((part + 0.5) / len(counts) - 0.5) * 2 for part, count in enumerate(counts) for _ in range(count)]
    even = [abs((part + 0.5) / len(counts) - 0.5) * 2 for part in range(len(counts))]
    variance = sum((each - 0.5) ** 2 for each in even) / len(even)
    mean = sum(far) / len(far)
    return tan(pi * mean / 2), erfc(abs(mean - 0.5) / sqrt(2 * variance / len(far)))


def level(edges_s: Sequence[float], mass: Sequence[float], error_s: float, std_s: float) -> float:
    """Return the probability that template and a Gaussian together are at most the error: bucket by bucket, exactly."""
    below = 0.0
    for start, end, share in zip(edges_s, edges_s[1:], mass, strict=False):
        if std_s == 0 or end == start:
            inside = (error_s - start) / (end - start) if end > start else float(error_s >= start)
            below += share * min(1.0, max(0.0, inside))
        else:
            grown = [_grown((error_s - edge) / std_s) for edge in (start, end)]
            below += share * (grown[0] - grown[1]) * std_s / (end - start)
    return below


def _grown(x: float) -> float:
    """Integral of the standard normal cdf up to x."""
    return x * (1 + erf(x / sqrt(2))) / 2 + exp(-x * x / 2) / sqrt(2 * pi)


def pp_distance(levels: Sequence[float], parts: int) -> float:
    """Return the greatest difference of the share of levels below each bound from that bound."""
    bounds = [nth / parts for nth in range(1, parts + 1)]
    return max(abs(sum(level < bound for level in levels) / len(levels) - bound) for bound in bounds[:-1])
