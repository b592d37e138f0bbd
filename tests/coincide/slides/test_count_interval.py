import numpy as np
import pytest

from coincide.slides.count_interval import count_interval

ONE = np.array([1.0])


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # Garwood: Fiducial limits for the Poisson distribution (1936), and Gehrels (1986); 95 %
    [
        (0, 0.0, 3.689),
        (1, 0.0253, 5.572),
        (2, 0.2422, 7.225),
        (10, 4.795, 18.39),
        (30, 20.24, 42.83),
        (100, 81.36, 121.63),
    ],
)
def test_it_is_that_of_the_tables(count: int, low: float, high: float) -> None:
    assert count_interval(np.array([float(count)]), ONE, 1.0, 0.95) == pytest.approx((low, high), abs=0.006)


@pytest.mark.parametrize("mean", [3.0, 40.0])
def test_it_covers_poisson_counts_as_often_as_it_says(mean: float) -> None:
    counts, many = np.unique(np.random.default_rng(35).poisson(mean, 20_000), return_counts=True)
    intervals = [count_interval(np.array([float(each)]), ONE, 1.0, 0.9) for each in counts]
    covers = np.array([low <= mean <= high for low, high in intervals])
    assert 0.9 <= (covers @ many) / 20_000 <= 0.98


def test_the_series_and_the_cube_meet() -> None:
    below, above = (count_interval(np.array([each]), ONE, 1.0, 0.9) for each in (99_998.0, 100_002.0))
    assert (np.array(above) - below) == pytest.approx(4.0, abs=0.02)


def test_weights_and_clumps_scale_it() -> None:
    low, high = count_interval(np.array([20.0]), ONE, 1.0, 0.9)
    assert count_interval(np.array([20.0]), ONE / 4, 1.0, 0.9) == pytest.approx((low / 4, high / 4))
    assert count_interval(np.array([60.0]), ONE, 3.0, 0.9) == pytest.approx((3 * low, 3 * high))
    parted = count_interval(np.array([5.0, 15.0]), np.array([1.0, 1.0]), 1.0, 0.9)
    assert parted == pytest.approx((low, high))
    assert count_interval(np.empty(0), np.empty(0), 1.0, 0.9) == (0.0, 0.0)
