from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, Window, timing_join
from coincide.constraints import SensorRule
from coincide.joins import timing_join_blocks
from tests.examples import examples
from tests.reference.recorded_streams import positions
from tests.reference.timing_join import Row, detections_of, row_lists
from tests.reference.timing_join import timing_join as slow_timing_join

TEMPLATES = (
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)]),
    Histogram([-3, -2, 2, 3], [0.5, 0, 0.5]),  # a gap: short windows qualify at several intervals of offsets
)
WINDOWS = (Window(2.0), Window(0.5), Window(lo_s=-1.0, hi_s=3.0), Window(lo_s=1.0, hi_s=1.5))
THRESHOLDS = (0.05, 0.3, 0.6, 1.0)
RULES: tuple[SensorRule, ...] = ("different", "same", "any")
YEAR_2100 = 4_102_444_800_000_000

windows, thresholds, rules = st.sampled_from(WINDOWS), st.sampled_from(THRESHOLDS), st.sampled_from(RULES)
Question = tuple[Window, float, SensorRule]
questions = st.tuples(windows, thresholds, rules)
event_lists = row_lists(
    25,
    detected_at_us=st.one_of(
        st.integers(0, 12).map(lambda half: half * 500_000), st.sampled_from([YEAR_2100, YEAR_2100 + 1])
    ),
    template=st.sampled_from(TEMPLATES),
    area=st.sampled_from([0, 1, 300, 90_000]),
    sensor=st.integers(0, 2),
    received_at_us=st.just(0),
)


def joined(rows: list[Row], window: Window, threshold: float, sensors: SensorRule) -> set[tuple[int, int]]:
    a, b = ([row for row in rows if row.stream == stream] for stream in "xy")
    pairs = timing_join(detections_of(a, TEMPLATES), detections_of(b, TEMPLATES), window, threshold, sensors)
    return {(a[left].id, b[right].id) for left, right in positions(pairs)}


@settings(max_examples=examples(40))
@given(event_lists, questions)
def test_equals_the_slow_twin(rows: list[Row], question: Question) -> None:
    assert joined(rows, *question) == slow_timing_join(rows, "x", "y", *question)


@settings(max_examples=examples(40))
@given(event_lists, questions)
def test_the_self_join_equals_the_slow_twin(rows: list[Row], question: Question) -> None:
    rows = [replace(row, stream="x") for row in rows]
    pairs = timing_join(detections_of(rows, TEMPLATES), None, *question)
    assert positions(pairs) == slow_timing_join(rows, "x", "x", *question)


@settings(max_examples=examples(30))
@given(event_lists, questions, st.sampled_from([-(10**15), 1, 86_400_000_000]))
def test_laws_of_threshold_swap_and_shift(rows: list[Row], question: Question, by_us: int) -> None:
    """A higher threshold gives a subset, swapped streams give swapped pairs, and a shift of all times changes none."""
    window, threshold, sensors = question
    answers = [joined(rows, window, each, sensors) for each in THRESHOLDS]
    assert all(higher <= lower for lower, higher in pairwise(answers))
    pairs = joined(rows, window, threshold, sensors)
    swapped = [replace(row, stream="y" if row.stream == "x" else "x") for row in rows]
    assert {(a, b) for b, a in joined(swapped, window.swapped(), threshold, sensors)} == pairs
    shifted = [replace(row, detected_at_us=row.detected_at_us + by_us) for row in rows]
    assert joined(shifted, window, threshold, sensors) == pairs


@pytest.mark.parametrize("templates", [TEMPLATES[1:2], TEMPLATES[:3], TEMPLATES], ids=["one", "mixed", "several sets"])
@pytest.mark.parametrize("partners", [1, 15, 60], ids="{} partners".format)
def test_every_path_of_the_kernel_gives_the_same_pairs(templates: tuple[Histogram, ...], partners: int) -> None:
    rng = np.random.default_rng(partners)
    times = rng.integers(0, 400 * 5_000_000 // partners, (2, 400))
    index = rng.integers(0, len(templates), (2, 400))
    a, b = (Detections(t, templates, i) for t, i in zip(times, index, strict=True))
    rows = [
        Row(side * 1000 + at, "xy"[side], int(times[side, at]), templates[index[side, at]], 0, None, 0)
        for side, at in np.ndindex(2, 400)
    ]
    expected = {(left, right - 1000) for left, right in slow_timing_join(rows, "x", "y", Window(2.5), 0.4, "any")}
    assert len(expected) > 100
    assert positions(timing_join(a, b, Window(2.5), 0.4)) == expected


def test_blocks_are_bounded_and_together_give_all_pairs() -> None:
    rng = np.random.default_rng(3)
    a, b = (Detections(np.sort(rng.integers(0, 10**9, 40_000)), [Histogram.point()]) for _ in "ab")
    blocks = list(timing_join_blocks(a, b, Window(0.1), 1))  # about 8 partners each: several in each of two parts
    whole = timing_join(a, b, Window(0.1), 1)
    assert len(blocks) > 4
    assert max(map(len, blocks)) < 70_000
    assert (np.concatenate([block.left for block in blocks]) == whole.left).all()
    assert (np.concatenate([block.right for block in blocks]) == whole.right).all()


def test_a_large_self_join_counts_each_pair_once() -> None:
    a = Detections(np.arange(70_000), [Histogram.point()])  # parts of the kernel meet inside the window
    pairs = timing_join(a, None, Window(2e-6), 1)
    assert (pairs.right - pairs.left).min() == 1
    assert len(pairs) == 69_999 + 69_998


ONE = Detections([0], [Histogram.point()])
STRINGS = Detections([0, 0], [Histogram.point()], area=["bay", "sea"], sensor=["s1", "s2"])
NUMBERS = Detections([0, 0], [Histogram.point()], area=[10**15, -3], sensor=[10**15, 10**15 + 1])


def test_detections_without_a_sensor_differ_from_all_others() -> None:
    assert len(timing_join(ONE, Detections([0], [Histogram.point()], sensor=["s"]), Window(1), 1)) == 1


@pytest.mark.parametrize("one", [STRINGS, NUMBERS])
def test_labels_may_be_any_strings_or_numbers(one: Detections) -> None:
    assert positions(timing_join(one, one, Window(1), 1, "same")) == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("a", "b", "sensors", "message"),
    [
        (ONE, Detections([0], [Histogram.point()], sensor=["s"]), "same", "without a sensor"),
        (STRINGS, NUMBERS, "different", "the same kind in both"),
        (Detections([0], [Histogram.point()], area=["bay"]), ONE, "different", "in all batches or in none"),
        (ONE, None, "others", "'different', 'same' or 'any'"),
    ],
)
def test_what_does_not_fit_is_refused(a: Detections, b: Detections | None, sensors: Any, message: str) -> None:
    with pytest.raises(CoincideError, match=message):
        timing_join(a, b, Window(1), 1, sensors)


@pytest.mark.parametrize("empty", [Detections([], []), Detections([], [], area=[]), Detections([], [], sensor=[])])
@pytest.mark.parametrize("label", [None, "bay", 7])
def test_a_batch_without_rows_fits_every_other(empty: Detections, label: str | int | None) -> None:
    full = Detections([0], [Histogram.point()], area=None if label is None else [label])
    for a, b in ((full, empty), (empty, full), (empty, empty), (empty, None)):
        pairs = timing_join(a, b, Window(1), 1)
        assert len(pairs) == 0
        assert pairs.probability.tolist() == []


def test_first_neutrinos_of_sn1987a() -> None:
    # 20/120 of Kamiokande's minute and 20/56 of Baksan's clock lie within 10 s of IMB's first event
    imb = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    kamiokande = Detections([35_000_000], [Histogram.uniform(-60, 60)])
    baksan = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    assert timing_join(imb, kamiokande, Window(10), 0.1).probability == pytest.approx([20 / 120], abs=1e-12)
    assert timing_join(imb, baksan, Window(10), 0.1).probability == pytest.approx([20 / 56], abs=1e-12)
    assert len(timing_join(imb, baksan, Window(10), 0.3572)) == 0
