"""Rates of the last minutes, counted one by one."""

from typing import Any

import numpy as np
import pytest

from coincide import CoincideError
from coincide.evidence import recent_rates


def test_they_count_the_reports_of_the_same_sensor_just_before() -> None:
    rng = np.random.default_rng(0)
    times_us, sensor, usual_hz = rng.integers(0, 60_000_000, 200), rng.integers(0, 3, 200), [0.1, 0.2, 2.0]
    found = recent_rates(times_us, sensor, usual_hz, lasts_s=7, usual_lasts_s=5)
    for at, own, hz in zip(times_us.tolist(), sensor.tolist(), found.tolist(), strict=True):
        before = sum(
            own == other and at - 7_000_000 <= each < at
            for each, other in zip(times_us.tolist(), sensor.tolist(), strict=True)
        )
        assert hz == pytest.approx((before + usual_hz[own] * 5) / 12)


@pytest.mark.parametrize(
    "changed",
    [{"lasts_s": 0}, {"usual_lasts_s": -1}, {"sensor": [0, 1]}, {"usual_hz": [0.0]}, {"detected_at_us": [0.5, 1]}],
)
def test_they_say_what_they_cannot_take(changed: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"detected_at_us": [0, 1], "sensor": [0, 0], "usual_hz": [1.0], "lasts_s": 1}
    with pytest.raises(CoincideError, match=next(iter(changed))):
        recent_rates(**{"usual_lasts_s": 1, **usual, **changed})
