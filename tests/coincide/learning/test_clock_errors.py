"""Errors that move together: who shares a clock is found, with its error and what each has beside it; no one else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Histogram, Window
from coincide.arrays.kinds import FloatArray
from coincide.clocks import Clock
from coincide.learning import Errors, SharedError, errors_by_consensus, shared_by_consensus, shared_errors
from coincide.learning.clock_errors import rank_correlation

EVENTS, EVERY_US, WITHIN = 400, 60_000_000, Window(20)
WIDE, SHARP, OWN = Histogram.normal(3.0, 32), Histogram.normal(0.3, 16), Histogram.normal(0.1, 8)
ON_CLOCK = Clock("gw-7", WIDE).template(OWN)


def against(errors_s: FloatArray) -> dict[int, Errors]:
    """Errors at events all of which everybody reports; (sensors, events)."""
    every = np.arange(errors_s.shape[1])
    return {number: Errors(each, every, every, 0, 0) for number, each in enumerate(errors_s)}


def by_consensus(errors_s: FloatArray, *templates: Histogram) -> list[SharedError]:
    at_us = np.arange(errors_s.shape[1]) * EVERY_US - np.rint(errors_s * 1e6).astype(np.int64)
    source = np.repeat(np.arange(len(errors_s)), errors_s.shape[1])
    return shared_by_consensus(at_us.ravel(), source, source, dict(enumerate(templates)), WITHIN)


def normal(rng: Generator, *sigmas_s: float) -> FloatArray:
    return rng.normal(0, np.array(sigmas_s)[:, None], (len(sigmas_s), EVENTS))


def on_one_clock(rng: Generator) -> FloatArray:
    """Errors of two sensors of one gateway, and of three others."""
    errors_s = normal(rng, 0.1, 0.1, 0.3, 0.3, 0.3)
    errors_s[:2] += rng.normal(0, 3.0, EVENTS)
    return errors_s


def test_what_two_sensors_share_is_parted_from_what_each_has(rng: Generator) -> None:
    off_s = rng.uniform(-10, 10, EVENTS)
    errors_s = normal(rng, 0.1, 0.1, 5.0)
    errors_s[:2] += off_s
    [shared] = shared_errors(against(errors_s), Window(60), 32)
    assert (shared.sources, shared.events) == ((0, 1), EVENTS)
    assert shared.correlation > 0.99
    assert shared.error.std_s == pytest.approx(off_s.std(), rel=0.03)
    assert shared.error.mean_s == pytest.approx(off_s.mean(), abs=0.05)
    for own in shared.own.values():
        assert own.std_s == pytest.approx(0.1, rel=0.15)
        assert abs(own.mean_s) < 0.03


@pytest.mark.parametrize("templates", [(WIDE, WIDE), (ON_CLOCK, ON_CLOCK)], ids=["no clock declared", "declared"])
@pytest.mark.parametrize("others", [2, 3])
def test_a_consensus_finds_them_whether_or_not_the_clock_is_declared(
    rng: Generator, templates: tuple[Histogram, ...], others: int
) -> None:
    [shared] = by_consensus(on_one_clock(rng)[: 2 + others], *templates, *[SHARP] * others)
    assert shared.sources == (0, 1)
    assert shared.error.std_s == pytest.approx(3.0, rel=0.15)
    assert [own.std_s for own in shared.own.values()] == pytest.approx([0.1, 0.1], rel=0.25)


@pytest.mark.parametrize(
    ("sigmas_s", "templates"),
    [
        ((3.0, 3.0, 0.3, 0.3, 0.3), (WIDE, WIDE, SHARP, SHARP, SHARP)),
        ((3.0, 3.0, 0.3, 0.3, 0.3), (ON_CLOCK, ON_CLOCK, SHARP, SHARP, SHARP)),
        ((0.3, 0.3, 0.3, 0.3, 5.0), (SHARP,) * 5),
        ((0.3, 0.3, 1.5, 1.5), (SHARP,) * 4),
    ],
    ids=["independent", "declared, but independent", "one template is too sharp", "two are"],
)
def test_nobody_else_is_said_to_share_a_clock(
    rng: Generator, sigmas_s: tuple[float, ...], templates: tuple[Histogram, ...]
) -> None:
    assert by_consensus(normal(rng, *sigmas_s), *templates) == []


def test_sensors_of_one_clock_are_no_others_to_each_other(rng: Generator) -> None:
    """Else they would take the error that they share for the truth: it is as if they were one sensor."""
    errors_s = on_one_clock(rng)
    at_us = (np.arange(EVENTS) * EVERY_US - np.rint(errors_s * 1e6).astype(np.int64)).ravel()
    source = np.repeat(np.arange(5), EVENTS)
    plain = Histogram(ON_CLOCK.edges_s, ON_CLOCK.mass)
    on_clock, off_clock = ({0: of, 1: of, 2: SHARP, 3: SHARP, 4: SHARP} for of in (ON_CLOCK, plain))
    found = errors_by_consensus(at_us, source, source, on_clock, WITHIN)
    as_one = errors_by_consensus(at_us, source, np.where(source == 1, 0, source), off_clock, WITHIN)
    apart = errors_by_consensus(at_us, source, source, off_clock, WITHIN)
    for number in range(5):
        np.testing.assert_array_equal(found[number].error_s, as_one[number].error_s)
    assert len(found[0]) != len(apart[0]) or np.any(found[0].error_s != apart[0].error_s)


reported = st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 3)), max_size=80).map(
    lambda of: sorted(dict(of).items())
)


@given(reported, reported)
def test_the_correlation_is_that_of_ranks_at_common_events(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    def errors(of: list[tuple[int, int]]) -> Errors:
        rows = np.arange(len(of))
        return Errors(np.array([each for _, each in of], float), rows, np.array([at for at, _ in of], int), 0, 0)

    def ranks(values: list[int]) -> list[float]:
        return [sum(each < value for each in values) + (values.count(value) + 1) / 2 for value in values]

    common = sorted({at for at, _ in one} & {at for at, _ in other})
    found, events = rank_correlation(errors(one), errors(other))
    assert events == len(common)
    x, y = (ranks([dict(of)[at] for at in common]) for of in (one, other))
    if events < 30 or len({*x}) == 1 or len({*y}) == 1:
        assert found == 0.0
    else:
        assert found == pytest.approx(float(np.corrcoef(x, y)[0, 1]), abs=1e-9)
