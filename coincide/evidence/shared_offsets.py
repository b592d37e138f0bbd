"""Shared offsets: how densely reported times lie if one event made them all, where members share clocks.

At a moment T each member has a density. Members of one clock have a product of their own densities, which the clock's
error moves, so it is averaged over that. What is left is an integral over T of a product of steps and straight lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.evidence.step_function import MovedByError, StepFunction
from coincide.probability.joint.shifted_tuple import NO_CLOCK, Group, clock_codes, shared_errors
from coincide.probability.piecewise import gauss_legendre
from coincide.templates.clocked import own_of
from coincide.templates.histogram import Histogram


def clocks_of_members(templates: Sequence[Histogram], index: IndexArray) -> IndexArray:
    """Return the code of the clock of each member, in the shape of `index`; who is absent, -1, is on none."""
    [codes] = clock_codes([templates])
    return np.append(codes, NO_CLOCK)[index]


def density_on_clocks(templates: Sequence[Histogram], reported_s: Sequence[float]) -> float:
    """Return the density of one match at one moment: that of its reported times, but for the first.

    Work is bounded. It is exact but for rounding where a clock's error has at most 64 buckets, and the product of what
    its members have of their own at most 128. Of more, neighbours are put together: their mass stays, evenly spread.

    Parameters
    ----------
    templates : sequence of Histogram
        Of each member.
    reported_s : sequence of float
        When it reported, in seconds since the first report.
    """
    clocks = shared_errors(templates)
    on_clocks = {member for group in clocks for member in group}
    others = [
        StepFunction.of(template).later(at_s)
        for member, (template, at_s) in enumerate(zip(templates, reported_s, strict=True))
        if member not in on_clocks
    ]
    moved = [MovedByError(_own_product(templates, reported_s, group), error) for group, error in clocks.items()]
    return _integral(StepFunction.product(others) if others else None, moved)


def _own_product(templates: Sequence[Histogram], reported_s: Sequence[float], group: Group) -> StepFunction:
    """Return the product of the own densities of a clock's members, were the clock right."""
    return StepFunction.product([StepFunction.of(own_of(templates[each])).later(reported_s[each]) for each in group])


def _integral(steps: StepFunction | None, moved: Sequence[MovedByError]) -> float:
    """Integrate a product of steps and straight lines: a polynomial between all edges and bends."""
    bounds = [each.bends_s for each in moved] + ([] if steps is None else [steps.edges_s])
    if any(len(each) < 2 for each in bounds):
        return 0.0
    start, stop = max(each[0] for each in bounds), min(each[-1] for each in bounds)
    if start >= stop:
        return 0.0
    breaks = np.unique(np.clip(np.concatenate(bounds), start, stop))
    middle, half_s = (breaks[:-1] + breaks[1:]) / 2, np.diff(breaks) / 2
    weight: FloatArray = half_s if steps is None else half_s * steps.at(middle)
    inside = np.flatnonzero(weight > 0)
    density = 0.0
    for position, share in zip(*gauss_legendre(len(moved)), strict=True):
        time_s = middle[inside] + position * half_s[inside]
        density += share * float(np.prod([each.at(time_s) for each in moved], axis=0) @ weight[inside])
    return max(density, 0.0)
