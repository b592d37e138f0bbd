import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Window, attainable, match_probability, satisfaction_offsets, timing_join
from coincide.clocks import Clock, ClockedHistogram
from coincide.errors import HistogramError
from coincide.probability import match_probabilities
from tests.examples import examples
from tests.reference.joint_tuples import SECOND, small_templates

GATEWAY, OTHER = Clock("gw-7", Histogram.uniform(-30, 30)), Clock("gw-8", Histogram.normal(3))
OWN, BROAD = Histogram.uniform(-0.05, 0.05), Histogram.normal(0.5)


def test_it_survives_json_and_has_an_id_of_all_it_says() -> None:
    template = GATEWAY.template(OWN)
    again = Histogram.from_json(template.to_json())
    assert isinstance(again, ClockedHistogram)
    assert (again, again.id, again.own, again.clock) == (template, template.id, OWN, "gw-7")
    others = [Clock("gw-8", GATEWAY.error).template(OWN), GATEWAY.template(OWN, Histogram.uniform(-31, 31))]
    plain = Histogram(template.edges_s, template.mass)
    assert len({template.id, plain.id, *(other.id for other in others)}) == 4
    assert template != plain
    assert plain != template


def test_it_reaches_as_far_as_either_error() -> None:
    late = Histogram.uniform(5, 6)
    template = Clock("gw-7", Histogram.uniform(-20, -10)).template(late)
    assert (template.earliest_us, template.latest_us) == (-15 * SECOND, 6 * SECOND)


@pytest.mark.parametrize(
    ("own", "clock", "says"),
    [
        (GATEWAY.template(OWN), "gw-8", "own is .*: a Histogram that is on no clock"),
        (OWN, "", "clock is '': a text of 1 to 200 characters"),
        (OWN, 7, "clock is 7: a text"),
    ],
)
def test_what_is_no_clock_is_refused(own: Histogram, clock: str, says: str) -> None:
    with pytest.raises(HistogramError, match=says):
        Clock(clock, Histogram.uniform(-1, 1)).template(own, Histogram.uniform(-2, 2))


@pytest.mark.parametrize("form", [{"clock": 3}, {"edges_s": [0, 1], "mass": [1], "own": {}, "clock": {"id": "a"}}])
def test_what_is_no_template_on_a_clock_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(HistogramError):
        Histogram.from_json(form)


def test_offsets_of_one_clock_are_those_of_the_own_errors() -> None:
    one, other = GATEWAY.template(OWN), GATEWAY.template(BROAD)
    expected = satisfaction_offsets(OWN, BROAD, Window(1), 0.5)
    assert np.array_equal(satisfaction_offsets(one, other, Window(1), 0.5), expected)
    assert attainable(one, one, Window(1)).probability == 1.0
    apart = OTHER.template(BROAD)
    plain, plain_apart = (Histogram(each.edges_s, each.mass) for each in (one, apart))
    expected = satisfaction_offsets(plain, plain_apart, Window(20), 0.2)
    assert np.array_equal(satisfaction_offsets(one, apart, Window(20), 0.2), expected)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(small_templates(), min_size=4, max_size=4), st.integers(0, 3))
def test_many_pairs_are_each_what_one_is(own: list[Histogram], window_s: int) -> None:
    clocks = [Clock("a", own[0]), Clock("b", own[1])]
    templates = [clock.template(each) for clock in clocks for each in own[2:]] + own[2:]
    u, v = (each.ravel() for each in np.meshgrid(range(6), range(6)))
    offset_us = np.arange(36) * 100_000 - 1_800_000
    found = match_probabilities(templates, templates, u, v, offset_us, Window(window_s))
    for pair in range(36):
        one, other = templates[u[pair]], templates[v[pair]]
        assert found[pair] == pytest.approx(
            match_probability(one, other, offset_us[pair] / SECOND, Window(window_s)), abs=1e-12
        )


def test_a_join_judges_each_pair_by_its_clocks() -> None:
    rng = np.random.default_rng(3)
    templates = [GATEWAY.template(OWN), OTHER.template(OWN), GATEWAY.template(BROAD), BROAD]
    index = rng.integers(0, 4, 300)
    times = np.sort(rng.integers(0, 300 * SECOND, 300))
    a, b = (Detections(times[part], templates, index[part]) for part in (slice(0, None, 2), slice(1, None, 2)))
    found = timing_join(a, b, Window(1), 0.2)
    expected = [
        (i, j)
        for i in range(len(a))
        for j in range(len(b))
        if match_probability(
            templates[a.template_index[i]],
            templates[b.template_index[j]],
            (b.detected_at_us[j] - a.detected_at_us[i]) / SECOND,
            Window(1),
        )
        >= 0.2
    ]
    assert sorted(zip(found.left.tolist(), found.right.tolist(), strict=True)) == expected
    assert {(int(a.template_index[i]), int(b.template_index[j])) for i, j in expected} >= {(0, 0), (0, 2), (1, 1)}
