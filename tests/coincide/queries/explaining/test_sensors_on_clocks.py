"""What sensors on clocks attain: a pair on one clock by what is their own, all others by their whole errors."""

from collections.abc import Sequence

import pytest

from coincide import Histogram
from coincide.clocks import Clock
from coincide.queries import Query
from coincide.queries.explaining import KnownSensor, explain

OWN, ERROR = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-30, 30)
EAST, WEST = (Clock(name, ERROR).template(OWN) for name in ("gw-east", "gw-west"))
QUERY = {
    "id": "q",
    "from": {"a": "blast", "b": "blast"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.9}],
}


@pytest.mark.parametrize(
    ("templates", "sensors", "greatest"),
    [
        ([EAST, EAST, WEST, WEST], ("s0", "s1"), 1.0),
        ([EAST, WEST, WEST], ("s1", "s2"), 1.0),
        ([EAST, OWN, OWN], ("s1", "s2"), 1.0),
        ([EAST, WEST], ("s0", "s1"), 0.034),  # two errors of 60 s: about 2 / 60
        ([EAST, OWN], ("s0", "s1"), 0.034),
    ],
)
def test_the_best_pair_is_one_that_attains_it(
    templates: Sequence[Histogram], sensors: tuple[str, str], greatest: float
) -> None:
    known = [KnownSensor(f"s{nth}", "quarry", "blast", each) for nth, each in enumerate(templates)]
    [edge] = explain(Query.from_json(QUERY), known).edges
    assert edge.greatest == pytest.approx(greatest, abs=1e-3)
    assert edge.best is not None
    assert edge.best.sensors == sensors
