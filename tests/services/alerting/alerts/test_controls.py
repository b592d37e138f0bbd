"""A silence covers the alerts that fit all its matchers, from its first instant up to its last, which it leaves out."""

import pytest

from services.alerting.alerts.controls import Silence
from services.alerting.records.alert import Alert

S = 1_000_000
OF_BAY = Alert(
    id="a-1",
    kind="episode",
    source="e-1",
    area="bay",
    labels={"team": "sea"},
    severity="critical",
    title="bay!",
    fired_at_us=150 * S,
    revision=1,
    received_at_us=150 * S,
)


def silence(**matchers: str) -> Silence:
    return Silence(
        v=1, id="s-1", matchers=matchers, from_us=100 * S, until_us=200 * S, by="ann", why="works", created_at_us=0
    )


@pytest.mark.parametrize(
    ("at_us", "covers"), [(100 * S - 1, False), (100 * S, True), (200 * S - 1, True), (200 * S, False)]
)
def test_it_ends_right_before_its_last_instant(at_us: int, covers: bool) -> None:
    assert silence(area="bay").covers(OF_BAY, at_us) == covers


@pytest.mark.parametrize(
    ("matchers", "covers"),
    [
        ({"area": "b*", "team": "sea"}, True),
        ({"area": "bay", "team": "air"}, False),
        ({"ship": "*"}, True),  # a label that is not there is empty
        ({"ship": "?*"}, False),
    ],
)
def test_every_matcher_must_fit(matchers: dict[str, str], covers: bool) -> None:
    assert silence(**matchers).covers(OF_BAY, 150 * S) == covers
