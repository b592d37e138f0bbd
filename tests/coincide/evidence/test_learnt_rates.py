from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Network
from coincide.errors import RateError
from coincide.evidence import Hearings, fixed_point, learnt_rates
from tests.reference.event_networks import Simulation, tenths

WORD = Network("abc", 0.01, 0.8, None)


def counted(events_hz: float, heard_by: list[float], noise_hz: float, lasts_s: float) -> Hearings:
    """What is to be expected of a network, if all its events are told from chance."""
    q = np.array(heard_by)
    hears = ((np.arange(8)[:, None] >> np.arange(3)) & 1).astype(bool)
    rate = events_hz * np.where(hears, q, 1 - q).prod(axis=1)
    several = hears.sum(axis=1) >= 2
    heard = (rate[several, None] * hears[several]).sum(axis=0)
    reported = events_hz * q + noise_hz
    return Hearings(lasts_s, rate[several].sum() * lasts_s, heard * lasts_s, reported * lasts_s)


@pytest.mark.parametrize("word", [WORD, Network("abc", 0.5, 0.3, None)])
def test_where_much_was_heard_the_word_does_not_matter(word: Network) -> None:
    truth = Network.of_noise("abc", 0.05, [0.9, 0.6, 0.4], 0.1)
    learnt = learnt_rates(word, counted(0.05, [0.9, 0.6, 0.4], 0.1, 1e7))
    assert learnt.events_hz == pytest.approx(truth.events_hz, rel=0.01)
    np.testing.assert_allclose(learnt.heard_by, truth.heard_by, rtol=0.01)
    np.testing.assert_allclose(learnt.unpaired_hz, truth.unpaired_hz, rtol=0.01)


def test_a_sensor_that_was_dead_has_missed_nothing() -> None:
    heard_by = [0.9, 0.6, 0.4]
    whole = [counted(0.05, heard_by, 0.1, 5e6), counted(0.05, [0.9, 0.6, 0.0], 0.1, 5e6)]
    dead = replace(whole[1], alive=np.array([1, 1, 0.0]), while_alive=whole[1].events * np.array([1, 1, 0.0]))
    learnt, fooled = (learnt_rates(WORD, whole[0].and_then(each)) for each in (dead, whole[1]))
    np.testing.assert_allclose(learnt.heard_by, heard_by, rtol=0.01)
    assert learnt.events_hz == pytest.approx(0.05, rel=0.01)
    assert fooled.heard_by[2] < 0.25


def test_where_nothing_was_heard_yet_the_word_stands() -> None:
    nothing = Hearings.of(np.empty((2, 0), int), [], [0, 0, 0], 1e-3)
    learnt = learnt_rates(WORD, nothing)
    assert learnt.heard_by == pytest.approx(WORD.heard_by, rel=0.01)
    assert learnt.events_hz == pytest.approx(WORD.events_hz, rel=0.01)


@given(st.floats(0, 1e6), st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0, 1e6), st.floats(1, 1e8))
def test_whatever_was_heard_the_rates_stay_within_bounds(
    events: float, shares: list[float], others: float, lasts_s: float
) -> None:
    heard = events * np.array(shares)
    learnt = learnt_rates(WORD, Hearings(lasts_s, events, heard, heard + others))
    assert WORD.events_hz / 100 * (1 - 1e-9) <= learnt.events_hz <= WORD.events_hz * 100 * (1 + 1e-9) or (
        learnt.events_hz * learnt.heard_by.max() <= (heard + others + 1).max() / lasts_s
    )
    assert ((learnt.heard_by >= 0.01) & (learnt.heard_by <= 0.99)).all()
    assert (learnt.unpaired_hz > 0).all()
    assert (learnt.events_hz * learnt.heard_by <= (heard + others + 1) / lasts_s * (1 + 1e-9)).all()


def test_hearings_add_up_and_fade() -> None:
    first = Hearings.of([[0], [1]], [0.5], [4, 6], 10)
    second = Hearings.of([[1, 0], [0, -1]], [1.0, np.nan], [1, 1], 20)
    both = first.and_then(second)
    assert (both.lasts_s, both.events) == (30, 1.5)
    assert (both.heard.tolist(), both.reported.tolist()) == ([1.5, 1.5], [5, 7])
    assert first.and_then(second, kept=0.0).heard.tolist() == second.heard.tolist()
    in_one = first.and_then(second.and_then(first))
    assert in_one.heard.tolist() == first.and_then(second).and_then(first).heard.tolist()


HEARD = Hearings.of([[0], [1]], [1], [1, 1, 1], 1)
CROWDED = Simulation("busy", 3, 0.02, 0.8, 0.05, 10_000)


def test_with_learnt_rates_what_is_said_is_still_what_is_true() -> None:
    log = CROWDED.log(np.random.default_rng(4))
    word = Network(CROWDED.names, 3 * CROWDED.events_hz, 0.5, None)
    learnt = CROWDED.learnt(log, word)
    assert learnt.has_settled
    found = CROWDED.judged(log, learnt.network)
    bins = tenths(found.shared.value, log.is_event(found.parts.members), least=100)
    assert bins
    assert all(each.gap < 4 * np.sqrt(each.said * (1 - each.said) / each.cases) + 0.05 for each in bins)
    # and the same again, bit for bit
    again = CROWDED.learnt(log, word)
    assert (again.network.events_hz, again.rounds) == (learnt.network.events_hz, learnt.rounds)


def test_chance_alone_does_not_feed_the_rate_of_events() -> None:
    quiet = Simulation("no events", 3, 1e-9, 0.8, 0.05, 10_000)
    log = quiet.log(np.random.default_rng(4))
    word = Network(quiet.names, 0.02, 0.8, None)
    learnt = quiet.learnt(log, word)
    assert learnt.network.events_hz < word.events_hz / 3
    found = quiet.judged(log, learnt.network).shared.value
    assert found.sum() < 0.15 * word.events_hz * quiet.lasts_s


def test_a_fixed_point_that_does_not_settle_says_so() -> None:
    calls = []

    def judge(network: Network) -> Hearings:
        calls.append(network)
        return Hearings.of([[0], [1]], [float(len(calls) % 2)], [5, 5], 10)

    learnt = fixed_point(Network("ab", 0.1, 0.5, [None, 0.3]), judge, [5, 5], 10, most_rounds=4)
    assert (learnt.rounds, learnt.has_settled, len(calls)) == (4, False, 4)
    assert calls[0].unpaired_hz.tolist() == [0.55, 0.3]


@pytest.mark.parametrize(
    ("door", "field"),
    [
        (lambda: Hearings.of([[0], [1]], [0.5], [1, -1], 1), "reported"),
        (lambda: Hearings.of([[0], [1]], [0.5], [1, 1], 0), "lasts_s"),
        (lambda: Hearings.of([[0], [1]], [1.5], [1, 1], 1), "posterior"),
        (lambda: Hearings.of([[0], [1]], [0.5, 0.5], [1, 1], 1), "posterior"),
        (lambda: Hearings.of([[0], [2]], [0.5], [1, 1], 1), "sensor"),
        (
            lambda: learnt_rates(Network("ab", None, 0.5, None), Hearings.of([[0], [1]], [1], [1, 1], 1)),
            "word.events_hz",
        ),
        (lambda: learnt_rates(WORD, Hearings.of([[0], [1]], [1], [1, 1], 1)), "hearings"),
    ],
)
def test_what_cannot_be_used_is_refused(door: Any, field: str) -> None:
    with pytest.raises(RateError) as refusal:
        door()
    assert refusal.value.field == field
