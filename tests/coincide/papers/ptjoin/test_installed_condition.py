from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Window, timing_join
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.partition_bounds import InstalledCondition, Partitions, partitions_for_any_threshold
from coincide.papers.ptjoin.quadratics import earliest_satisfaction_time, satisfaction_time
from coincide.papers.recording import Event
from tests.reference.recorded_streams import LONG_WINDOWS, SEVERAL_BUCKETS, UNIFORM, Recorded, recorded
from tests.reference.templates import templates

D_S = 50.0  # at least as long as any template drawn
DELTAS = st.floats(0.001, 0.999)


def phi(template: Histogram) -> HistogramTimestamp:
    """The paper's template, from 0 on."""
    return HistogramTimestamp.of_template(template.shift(-template.earliest_s), 1)


def stamped(template: Histogram, latest: float) -> HistogramTimestamp:
    return phi(template) + latest - phi(template).max


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


@settings(max_examples=25)
@given(templates(), templates(), DELTAS)
def test_the_table_is_the_readable_satisfaction_times(u: Histogram, v: Histogram, delta: float) -> None:
    condition = InstalledCondition.install([u], [v], Window(D_S), delta)
    latest = satisfaction_time(phi(u), phi(v), delta) + D_S - phi(u).max
    earliest = earliest_satisfaction_time(phi(u), phi(v), delta) - D_S - phi(u).max
    assert condition.latest_us.item() == pytest.approx(latest * 1e6, abs=1e6 * _slack_s(u, v))
    assert condition.earliest_us.item() == pytest.approx(earliest * 1e6, abs=1e6 * _slack_s(u, v))


def _slack_s(u: Histogram, v: Histogram) -> float:
    """How far 1e-12 of probability may move a root: the square root of it where the density begins at 0."""
    return 1e-6 + math.sqrt(1e-12 * 2 * max(1.0, u.length_s) * max(1.0, v.length_s) / (_least_mass(u) * _least_mass(v)))


def _least_mass(template: Histogram) -> float:
    return float(template.mass[template.mass > 0].min())


@settings(max_examples=25)
@given(recorded(UNIFORM + SEVERAL_BUCKETS, LONG_WINDOWS))
def test_partitions_keep_what_they_promise(streams: Recorded) -> None:
    recording, window = streams.recording, streams.window
    pairs = timing_join(streams.a, streams.b, window, streams.threshold, sensors="any")
    matches = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    condition = InstalledCondition.install(streams.a.templates, streams.b.templates, window, streams.threshold)
    longest_us = max((v.latest_us - v.earliest_us for v in streams.b.templates), default=0)
    for a_i in (event for event in recording if event.stream == "a"):
        tight, loose = condition.partitions(a_i), partitions_for_any_threshold(a_i, window, longest_us)
        for b_j in (event for event in recording if event.stream == "b"):
            is_match = (a_i.row, b_j.row) in matches
            assert condition.is_match(a_i, b_j) == is_match
            for partitions in (tight, loose):
                if partitions.is_satisfied(b_j):
                    assert is_match
                if not partitions.least_us <= b_j.latest_us <= partitions.greatest_us:
                    assert not is_match


def test_the_right_probing_range_by_the_proof_of_theorem_3_as_printed_misses_matches() -> None:
    clock = Histogram.uniform(-2, 0)
    a_i = Event("a", 0, 9_000_000, 0, 7_000_000, 9_000_000, 9_000_000)
    b_r = Event("b", 0, 13_000_000, 0, 11_000_000, 13_000_000, 13_000_000)
    condition = InstalledCondition.install([clock], [clock], Window(5), 0.5)
    assert condition.is_match(a_i, b_r)
    assert b_r.latest_us <= condition.partitions(a_i).greatest_us
    # "an event b_r with max(H_r) > rpr_2 and max(H_r) >= max(H_i) does not qualify", rpr_2 with g(-d)
    rpr_2_s = satisfaction_time(phi(clock), phi(clock), 0.5) + (9 - 2) - 5
    assert b_r.latest_us > rpr_2_s * 1e6
    assert b_r.latest_us >= a_i.latest_us


def test_partitions_that_meet_leave_nothing_to_look_at_twice() -> None:
    partitions = Partitions(least_us=0, sure_first_us=10, sure_last_us=5, greatest_us=20)
    assert (partitions.sure_first_us, partitions.sure_last_us) == (6, 5)


@settings(max_examples=25)
@given(recorded(UNIFORM + SEVERAL_BUCKETS, LONG_WINDOWS))
def test_theorem_4_drops_nothing_that_an_event_still_to_come_matches(streams: Recorded) -> None:
    recording, window = streams.recording, streams.window
    condition = InstalledCondition.install(streams.a.templates, streams.b.templates, window, streams.threshold)
    of_a = [event for event in recording if event.stream == "a"]
    for at, a_i in enumerate(of_a):
        obsolete_before_us = condition.obsolete_before_us(a_i, recording.parameters["a"].max_delay_us)
        for b_j in (event for event in recording if event.stream == "b" and event.latest_us < obsolete_before_us):
            assert not any(condition.is_match(later, b_j) for later in of_a[at:])


def test_theorem_4_is_as_tight_as_it_can_be() -> None:
    # b matches a up to 5 s later than it: at a = 9 s, on time, all of b before 4 s is obsolete, and 4 s still matches
    clock = Histogram.uniform(-2, 0)
    condition = InstalledCondition.install([clock], [clock], Window(5), 0.5)
    a_i = Event("a", 0, 9_000_000, 0, 7_000_000, 9_000_000, 9_000_000)
    assert condition.obsolete_before_us(a_i, max_delay_us=0) == 4_000_000
    assert condition.is_match(a_i, Event("b", 0, 4_000_000, 0, 2_000_000, 4_000_000, 9_000_000))
    assert condition.obsolete_before_us(a_i, max_delay_us=3_000_000) == 1_000_000


def test_no_templates_no_partners() -> None:
    condition = InstalledCondition.install([Histogram.point()], [], Window(5), 0.5)
    nobody = condition.partitions(Event("a", 0, 0, 0, 0, 0, 0))
    assert nobody.least_us > nobody.greatest_us
