import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Window, timing_join
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.partition_bounds import InstalledCondition, Partitions, partitions_for_any_threshold
from coincide.papers.ptjoin.quadratics import earliest_satisfaction_time, satisfaction_time
from coincide.papers.recording import Event
from tests.examples import examples
from tests.reference.recorded_streams import LONG_WINDOWS, SEVERAL_BUCKETS, UNIFORM, Recorded, positions, recorded
from tests.reference.templates import templates

D_S = 50.0  # at least as long as any template drawn
DELTAS = st.floats(0.001, 0.999)
CLOCK = Histogram.uniform(-2, 0)


def phi(template: Histogram) -> HistogramTimestamp:
    """The paper's template, from 0 on."""
    return HistogramTimestamp.of_template(template.shift(-template.earliest_s), 1)


def stamped(template: Histogram, latest: float) -> HistogramTimestamp:
    return phi(template) + latest - phi(template).max


def at(stream: str, latest_s: int) -> Event:
    """An event of a clock 2 s long, by its max."""
    return Event(stream, 0, latest_s * 1_000_000, 0, (latest_s - 2) * 1_000_000, latest_s * 1_000_000, 9_000_000)


@given(templates(), templates(), DELTAS, st.floats(0, 120))
def test_theorem_2(u: Histogram, v: Histogram, delta: float, max_j: float) -> None:
    max_i = 60.0
    h_i, h_j = stamped(u, max_i), stamped(v, max_j)
    by_equation_8 = satisfaction_time(phi(u), phi(v), delta) + D_S + max_i - phi(u).max >= max_j
    by_equation_9 = earliest_satisfaction_time(phi(u), phi(v), delta) - D_S + max_i - phi(u).max <= max_j
    for probability, holds in ((ge(h_i + D_S, h_j), by_equation_8), (ge(h_j + D_S, h_i), by_equation_9)):
        assert probability >= delta - 1e-12 if holds else probability < delta + 1e-12


@given(templates(), templates(), st.floats(0, 120))
def test_lemma_2(u: Histogram, v: Histogram, max_j: float) -> None:
    h_i, h_j = stamped(u, 60.0), stamped(v, max_j)
    later = ge(h_i + D_S, h_j), ge(h_j + D_S, h_i)
    # the one that Lemma 2 needs is P of both, the other holds for certain
    needed, certain = later if max_j >= 60.0 else later[::-1]
    assert certain == 1.0
    assert needed == pytest.approx(later[0] + later[1] - 1, abs=1e-14)


@settings(max_examples=examples(25))
@given(templates(), templates(), DELTAS)
def test_the_table_is_the_readable_satisfaction_times(u: Histogram, v: Histogram, delta: float) -> None:
    condition = InstalledCondition.install([u], [v], Window(D_S), delta)
    latest = satisfaction_time(phi(u), phi(v), delta) + D_S - phi(u).max
    earliest = earliest_satisfaction_time(phi(u), phi(v), delta) - D_S - phi(u).max
    # how far 1e-12 of probability may move a root: the square root of it where the density begins at 0
    longest, least = (max(1.0, u.length_s) * max(1.0, v.length_s)), u.mass[u.mass > 0].min() * v.mass[v.mass > 0].min()
    slack_us = 1 + 1e6 * math.sqrt(1e-12 * 2 * longest / least)
    assert condition.latest_us.item() == pytest.approx(latest * 1e6, abs=slack_us)
    assert condition.earliest_us.item() == pytest.approx(earliest * 1e6, abs=slack_us)


@settings(max_examples=examples(25))
@given(recorded(UNIFORM + SEVERAL_BUCKETS, LONG_WINDOWS))
def test_partitions_keep_what_they_promise(streams: Recorded) -> None:
    window = streams.window
    matches = positions(timing_join(streams.a, streams.b, window, streams.threshold, sensors="any"))
    condition = InstalledCondition.install(streams.a.templates, streams.b.templates, window, streams.threshold)
    longest_us = max((v.latest_us - v.earliest_us for v in streams.b.templates), default=0)
    of_a, of_b = ([event for event in streams.recording if event.stream == stream] for stream in "ab")
    for a_i, b_j in product(of_a, of_b):
        is_match = (a_i.row, b_j.row) in matches
        assert condition.is_match(a_i, b_j) == is_match
        for partitions in (condition.partitions(a_i), partitions_for_any_threshold(a_i, window, longest_us)):
            assert is_match or not partitions.is_satisfied(b_j)
            assert not is_match or partitions.least_us <= b_j.latest_us <= partitions.greatest_us


def test_the_right_probing_range_by_the_proof_of_theorem_3_as_printed_misses_matches() -> None:
    a_i, b_r = at("a", 9), at("b", 13)
    condition = InstalledCondition.install([CLOCK], [CLOCK], Window(5), 0.5)
    assert condition.is_match(a_i, b_r)
    assert b_r.latest_us <= condition.partitions(a_i).greatest_us
    # "an event b_r with max(H_r) > rpr_2 and max(H_r) >= max(H_i) does not qualify", rpr_2 with g(-d)
    rpr_2_s = satisfaction_time(phi(CLOCK), phi(CLOCK), 0.5) + (9 - 2) - 5
    assert b_r.latest_us > rpr_2_s * 1e6
    assert b_r.latest_us >= a_i.latest_us


@settings(max_examples=examples(25))
@given(recorded(UNIFORM + SEVERAL_BUCKETS, LONG_WINDOWS))
def test_theorem_4_drops_nothing_that_an_event_still_to_come_matches(streams: Recorded) -> None:
    of = streams.a.templates, streams.b.templates, streams.window, streams.threshold
    condition, delay_us = InstalledCondition.install(*of), streams.recording.parameters["a"].max_delay_us
    of_a, of_b = ([event for event in streams.recording if event.stream == stream] for stream in "ab")
    for row, a_i in enumerate(of_a):
        for b_j in (event for event in of_b if event.latest_us < condition.obsolete_before_us(a_i, delay_us)):
            assert not any(condition.is_match(later, b_j) for later in of_a[row:])


def test_theorem_4_is_as_tight_as_it_can_be() -> None:
    # b matches a up to 5 s later than it: at a = 9 s, on time, all of b before 4 s is obsolete, and 4 s still matches
    condition = InstalledCondition.install([CLOCK], [CLOCK], Window(5), 0.5)
    assert condition.obsolete_before_us(at("a", 9), max_delay_us=0) == 4_000_000
    assert condition.is_match(at("a", 9), at("b", 4))
    assert condition.obsolete_before_us(at("a", 9), max_delay_us=3_000_000) == 1_000_000


def test_partitions_that_meet_leave_nothing_to_look_at_twice_and_no_templates_no_partners() -> None:
    partitions = Partitions(least_us=0, sure_first_us=10, sure_last_us=5, greatest_us=20)
    assert (partitions.sure_first_us, partitions.sure_last_us) == (6, 5)
    nobody = InstalledCondition.install([Histogram.point()], [], Window(5), 0.5).partitions(at("a", 0))
    assert nobody.least_us > nobody.greatest_us
