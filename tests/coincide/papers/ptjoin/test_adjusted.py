from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from coincide import Histogram
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, adjusted
from tests.reference.templates import templates

H2 = HistogramTimestamp.of_template(Histogram([70, 80, 90, 100, 110], [0.15, 0.3, 0.4, 0.15]), 1)
H3 = HistogramTimestamp.of_template(Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6]), 1)


@given(templates(), templates())
def test_adjusted_histograms_share_their_intervals_and_keep_their_distributions(u: Histogram, v: Histogram) -> None:
    given_pair = [HistogramTimestamp.of_template(template, 1) for template in (u, v)]
    adjusted_pair = adjusted(*given_pair)
    assert adjusted_pair[0].points.tolist() == adjusted_pair[1].points.tolist()
    assert set(adjusted_pair[0].points) == set(given_pair[0].points) | set(given_pair[1].points)
    for template, timestamp in zip((u, v), adjusted_pair, strict=True):
        # at a point twice in the list the first sum is without its exact time, the second with it
        below = dict(zip(timestamp.points[1:].tolist(), np.cumsum(timestamp.mass).tolist(), strict=True))
        for point, probability in below.items():
            assert template.cdf(point) == pytest.approx(probability, abs=1e-14)


def test_the_adjusted_histograms_of_example_4() -> None:
    y = 165.0  # between 160 and 170, where the paper writes them out
    h3, h2 = adjusted(H3, H2 + (y - 70))
    assert h3.points.tolist() == [y, 170, y + 10, y + 20, 190, y + 30, 200, y + 40, 210]
    of_h3 = [0, 0.005 * y - 0.8, 0.05, -0.005 * y + 0.85, 0.03 * y - 4.8, -0.03 * y + 5.1, 0.06 * y - 9.6]
    np.testing.assert_allclose(h3.mass, [*of_h3, -0.06 * y + 10.2], atol=1e-12)
    # the paper prints the 7th and the 8th interval of H2 as I_6 and I_7; its masses are right
    of_h2 = [-0.015 * y + 2.55, 0.015 * y - 2.4, 0.3, -0.04 * y + 6.8, 0.04 * y - 6.4, -0.015 * y + 2.55]
    np.testing.assert_allclose(h2.mass, [*of_h2, 0.015 * y - 2.4, 0], atol=1e-12)
