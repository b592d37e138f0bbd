import numpy as np
import pytest

from coincide import Histogram
from coincide.errors import ThresholdError
from coincide.places import FramePlace, Places
from coincide.sources import SourceRule, source_probability
from tests.reference.one_place import Reports, grid

MEMBERS = [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (110.0, 90.0, 0.0)]
CLOCKS = [Histogram.uniform(-0.03, 0.02), Histogram.normal(0.01), Histogram.uniform(0, 0.04), Histogram.normal(0.02)]
PLACES = Places.of([FramePlace(*each) for each in MEMBERS])


@pytest.mark.parametrize(
    ("times", "slack_s"),
    [([146_000, 235_000, 195_000, 269_000], 0.05), ([0, 80_000, 300_000, 330_000], 0.1), ([0, 0, 0, 500_000], 0.05)],
)
def test_is_the_greatest_of_a_grid_to_within_its_bound(times: list[int], slack_s: float) -> None:
    found = source_probability(SourceRule(343, slack_s, margin_m=50), PLACES, CLOCKS, times, within=0.02)
    reports = Reports(MEMBERS, 343, CLOCKS, times)
    least, most = (-50, -50, 0), (160, 150, 0)
    greatest = float(reports.probabilities(list(grid(least, most, (60, 60, 1))), slack_s).max())
    assert found.probability <= found.at_most <= found.probability + 0.02 + 1e-9
    assert greatest <= found.at_most + 1e-6
    if found.place is None:
        assert found.probability == found.at_most == 0.0
    else:
        [there] = reports.probabilities([found.place.coordinates], slack_s)
        assert there == pytest.approx(found.probability, abs=1e-3)


def test_is_the_share_of_random_occurrences() -> None:
    times, slack_s, draws = [146_000, 235_000, 195_000, 269_000], 0.05, 20_000
    found = source_probability(SourceRule(343, slack_s, margin_m=50), PLACES, CLOCKS, times)
    assert found.place is not None
    rng = np.random.default_rng(36)
    corrected_s = np.array(Reports(MEMBERS, 343, CLOCKS, times).corrected_us(found.place.coordinates)) / 1e6
    occurred = np.array([clock.quantile(rng.uniform(size=draws)) for clock in CLOCKS]) + corrected_s[:, None]
    share = float((np.ptp(occurred, axis=0) <= slack_s).mean())
    assert found.probability == pytest.approx(share, abs=4 * np.sqrt(0.25 / draws))


def test_grows_with_the_slack_and_not_beyond_1() -> None:
    times = [146_000, 235_000, 195_000, 269_000]
    of = [source_probability(SourceRule(343, slack, margin_m=50), PLACES, CLOCKS, times) for slack in (0.02, 0.05, 0.3)]
    assert of[0].probability < of[1].probability < of[2].probability == 1.0 == of[2].at_most
    with pytest.raises(ThresholdError, match=r"within is 0: a number from 0\.001 to 1"):
        source_probability(SourceRule(343, 0.1), PLACES, CLOCKS, times, within=0)
