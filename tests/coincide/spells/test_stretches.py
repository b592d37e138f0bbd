"""Spells in columns: as the slow twin finds them, in whatever order, in whatever parts, and what they must be."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Bounded, Equal, Histogram, Increasing
from coincide.sliding.rules import RunRule
from coincide.spells import SpellReadings, SpellRule, Stretches
from coincide.templates.codes import TemplatesInOrder
from tests.examples import examples
from tests.reference.spells import SlowReading, SlowRule, SlowSpell, slow_spells

TEMPLATES = TemplatesInOrder(
    [Histogram.point(), Histogram.uniform(-2, 1), Histogram(edges_s=[-4, -3, 1, 2], mass=[0.5, 0, 0.5])]
)
SECOND = 1_000_000


def reading(
    ts_s: float,
    value: float = 0.0,
    *,
    within: bool = True,
    lasts: bool | None = None,
    template: int = 0,
    number: int = 0,
) -> SlowReading:
    known, ts_us = TEMPLATES.histogram(template), round(ts_s * SECOND)
    detected_at_us = ts_us - int(known.latest_us)
    name = f"r{ts_s}-{value}-{number}"
    judged = within, within if lasts is None else lasts
    return SlowReading(ts_us, "north", name, 0, value, *judged, detected_at_us, known, number, number * 10)


def stretches(readings: Sequence[SlowReading]) -> Stretches:
    names = np.empty(len(readings), object)
    names[:] = [(each.sensor, each.id) for each in readings]
    templates = [TEMPLATES.templates.index(each.template) for each in readings]
    columns = SpellReadings(
        group=np.array([each.group for each in readings], np.int64),
        begins=np.array([each.begins for each in readings], np.bool_),
        goes_on=np.array([each.lasts for each in readings], np.bool_),
        ts_us=np.array([each.ts_us for each in readings], np.int64),
        detected_at_us=np.array([each.detected_at_us for each in readings], np.int64),
        template=np.array(templates, np.int32),
        value=np.array([each.value for each in readings], np.float64),
        reading=names,
        revision=np.array([each.revision for each in readings], np.int64),
        received_at_us=np.array([each.received_at_us for each in readings], np.int64),
    )
    return Stretches.of(columns)


def rule(slow: SlowRule) -> SpellRule:
    return SpellRule(RunRule(slow.hold_us, None, slow.equivalence), slow.lasting_us, slow.threshold)


def told(held: Stretches, slow: SlowRule) -> list[SlowSpell]:
    spells = held.runs(rule(slow), TEMPLATES)
    at = np.flatnonzero(spells.counts(rule(slow)))
    runs = spells.runs.take(at)
    columns: list[Any] = [
        runs.group,
        runs.first,
        runs.first_us,
        spells.end_us[at],
        spells.is_ended[at],
        runs.last_us,
        runs.count,
        runs.revision,
        runs.received_at_us,
        runs.probability,
    ]
    return [SlowSpell(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def assert_alike(found: list[SlowSpell], expected: list[SlowSpell]) -> None:
    assert [each._replace(probability=0) for each in found] == [each._replace(probability=0) for each in expected]
    assert [each.probability for each in found] == pytest.approx([each.probability for each in expected], abs=1e-11)


@st.composite
def readings_drawn(draw: st.DrawFn) -> list[SlowReading]:
    made = []
    for number in range(draw(st.integers(0, 14))):
        drawn = reading(
            draw(st.integers(0, 24)) / 2,
            draw(st.sampled_from([1.0, 1.5, 2.0, 3.0])),
            within=(kind := draw(st.sampled_from("wwwwll-"))) == "w",
            lasts=kind != "-",
            template=draw(st.sampled_from([0, 0, 1, 2])),
            number=number,
        )
        made.append(drawn._replace(group=draw(st.integers(0, 1)), sensor=draw(st.sampled_from("ns"))))
    return made


rules = st.builds(
    SlowRule,
    hold_us=st.sampled_from([SECOND // 2, 2 * SECOND, 9 * SECOND]),
    equivalence=st.sampled_from([None, None, Equal(), Bounded(0.5), Increasing()]),
    lasting_us=st.sampled_from([1, SECOND, 4 * SECOND]),
    threshold=st.sampled_from([0.03, 0.5, 0.8, 1.0]),
)


@settings(max_examples=examples(400), deadline=None)
@given(readings_drawn(), rules)
def test_spells_are_those_of_the_definition(readings: list[SlowReading], slow: SlowRule) -> None:
    assert_alike(told(stretches(readings), slow), slow_spells(readings, slow))


@settings(max_examples=examples(200), deadline=None)
@given(readings_drawn(), rules, st.data())
def test_the_order_of_arrival_does_not_matter(readings: list[SlowReading], slow: SlowRule, data: st.DataObject) -> None:
    mixed, cut = data.draw(st.permutations(readings)), data.draw(st.integers(0, len(readings)))
    parts = Stretches.joined([stretches(mixed[:cut]), stretches(mixed[cut:])])
    assert_alike(told(parts, slow), told(stretches(readings), slow))


@settings(max_examples=examples(400), deadline=None)
@given(readings_drawn(), rules, st.lists(st.integers(0, 26), max_size=4).map(sorted))
def test_what_is_settled_loses_nothing_that_may_change(
    readings: list[SlowReading], slow: SlowRule, borders: list[int]
) -> None:
    """Settle up to some instants, each before the readings behind it come; then all that is not final is the same."""
    held, begin_us = Stretches.empty(), 0
    for border_us in [*(at * SECOND // 2 for at in borders), 99 * SECOND]:
        came = [each for each in readings if begin_us <= each.ts_us < border_us]
        held = Stretches.joined([held, stretches(came)])
        so_far = [each for each in readings if each.ts_us < border_us]
        assert_alike(live(told(held, slow), begin_us, slow), live(slow_spells(so_far, slow), begin_us, slow))
        until_us = np.full(len(held), border_us)
        held = held.settled(until_us, until_us, rule(slow), TEMPLATES)
        begin_us = border_us
        assert len(held) <= 2


def live(spells: list[SlowSpell], settled_us: int, slow: SlowRule) -> list[SlowSpell]:
    return [each for each in spells if (each.end_us if each.is_ended else each.last_us + slow.hold_us) >= settled_us]


MINUTE = SlowRule(hold_us=60 * SECOND, equivalence=None, lasting_us=60 * SECOND, threshold=0.5)


@pytest.mark.parametrize(
    ("readings", "spells"),
    [
        ([reading(at) for at in range(0, 60, 10)], []),
        ([reading(at) for at in range(0, 61, 10)], [(0, 60, False, 7)]),
        ([*(reading(at) for at in range(0, 60, 10)), reading(60, within=False)], [(0, 60, True, 6)]),
        ([*(reading(at) for at in range(0, 60, 10)), reading(59, within=False)], []),
        ([reading(0), reading(61)], []),  # nobody knows what was in between
        ([reading(0), reading(30), reading(60), reading(121), reading(181)], [(0, 60, False, 3), (121, 181, False, 2)]),
        ([reading(0), reading(60), reading(61, within=False), reading(70)], [(0, 61, True, 2)]),
        # 79.5 between 81 and 81, above 80 and until below 75: one spell
        ([reading(0), reading(35, within=False, lasts=True), reading(70)], [(0, 70, False, 3)]),
        # it does not begin with 79.5, nor after what ended one, but it lasts with it
        ([reading(0, within=False, lasts=True), reading(30), reading(90, within=False)], [(30, 90, True, 1)]),
        (
            [
                *(reading(0), reading(60), reading(70, within=False), reading(80, within=False, lasts=True)),
                *(reading(90), reading(149, within=False, lasts=True), reading(150, within=False)),
            ],
            [(0, 70, True, 2), (90, 150, True, 2)],
        ),
    ],
)
def test_a_minute_above_the_limit(readings: list[SlowReading], spells: list[tuple[int, int, bool, int]]) -> None:
    found = told(stretches(readings), MINUTE)
    shown = [(each.start_us // SECOND, each.end_us // SECOND, each.is_ended, each.count) for each in found]
    assert shown == spells


def test_the_threshold_is_that_of_two_uncertain_times() -> None:
    """Both known to 3 s: 61 s apart they were 60 s apart with 1 - (1/2)(2/3)(2/3) = 7/9."""
    readings = [reading(0, template=1), reading(61, template=1)]
    slow = MINUTE._replace(hold_us=99 * SECOND)
    assert [each.probability for each in told(stretches(readings), slow)] == [round(7 / 9, 12)]
    assert told(stretches(readings), slow._replace(threshold=0.78)) == []


@pytest.mark.parametrize("settles", [False, True])
def test_every_reading_that_may_be_why_a_spell_begins_where_it_does_is_in_its_revision(*, settles: bool) -> None:
    """With 81 in place of the cold one at -5, or of one between the limits, it would begin earlier."""
    newest, between, beginning = (
        reading(-5, within=False, number=9),
        [reading(at, within=False, lasts=True, number=7 - at) for at in (0, 1)],
        [reading(2, number=1), reading(62, number=0)],
    )
    for before, revision in (([newest, *between], 9), (between, 7), ([], 1)):
        held = stretches(before)
        if settles and before:
            until_us = np.full(len(held), 2 * SECOND)
            held = held.settled(until_us, until_us, rule(MINUTE), TEMPLATES)
            assert len(held) == 1
        [spell] = told(Stretches.joined([held, stretches(beginning)]), MINUTE)
        assert (spell.start_us, spell.revision) == (2 * SECOND, revision)
