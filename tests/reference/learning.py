"""What learning does before it fits anything, in the slowest and most obvious way."""

from collections.abc import Sequence


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
