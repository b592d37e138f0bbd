"""Shifts: how far each sensor of an area is shifted in each slide; a function of numbers, the same on every machine.

In slide n the sensors of an area take the places 0, 1, 2 ... in an order that is n's own, and each is shifted by its
place times the step of n. Steps grow evenly with n. They are so long that two neighbours are out of each other's reach,
and so short that the last sensor does not come round to the first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array

# constants of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014)
_GOLDEN, _FIRST, _SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def longest_step_us(sensors: int, moments: int) -> int:
    """Return the longest step with which so many sensors stay apart on a circle of so many microseconds."""
    return moments // max(1, sensors)


def shifts_us(slide: int, slides: int, sensors: int, moments: int, least_us: int) -> Int64Array:
    """Return how far each sensor is shifted in a slide, counted from 1; slide 0 shifts none.

    Any two are shifted against each other by at least `least_us`, either way round the circle of `moments`.

    Parameters
    ----------
    slide, slides : int
        Number of the slide, and how many there are.
    sensors : int
    moments : int
        Recorded microseconds.
    least_us : int
        At most `longest_step_us`.

    Examples
    --------
    >>> [shifts_us(n, 3, 2, 1_000, 100).tolist() for n in range(4)]
    [[0, 0], [0, 100], [200, 0], [300, 0]]
    """
    if slide == 0:
        return np.zeros(sensors, np.int64)
    step_us = least_us + (slide - 1) * step_growth_us(slides, sensors, moments, least_us)
    return _places(slide, sensors) * step_us


def step_growth_us(slides: int, sensors: int, moments: int, least_us: int) -> int:
    """Return by how much the step grows from slide to slide: by a whole one, or by less where the circle is short."""
    return min(least_us, (longest_step_us(sensors, moments) - least_us) // max(1, slides - 1))


def _places(slide: int, sensors: int) -> Int64Array:
    """Return an order of the sensors that a slide has for its own."""
    numbers = np.arange(1, sensors + 1, dtype=np.uint64)
    order = np.argsort(_mixed(numbers * _GOLDEN + _mixed(np.array([slide], np.uint64) * _GOLDEN)), kind="stable")
    places: Int64Array = np.argsort(order, kind="stable").astype(np.int64)
    return places


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return numbers that look drawn at random; unsigned arithmetic wraps around."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    mixed: npt.NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(31))
    return mixed
