"""How much work our own joins do, in counts: it grows with what comes in and goes out, not with what is held."""

import numpy as np
import pytest

from coincide import Detections, Histogram, Stream, TimingJoin, Window, timing_join
from coincide.arrays import range_expansion
from coincide.joins import sorted_run
from coincide.joins.buffer import FEW_MOVED, MOVED_A_ROW, Buffer
from coincide.joins.events import Events
from coincide.joins.keys import KeyGrid
from coincide.joins.pairs import matching
from coincide.joins.pairs import pair_join as batch_join
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.sorted_run import SortedRun
from tests.reference.call_counts import CallCounts


@pytest.fixture
def joined(counts: CallCounts) -> CallCounts:
    """Bounds searched by the joins, keys laid out to search in, pairs written out and tested, and events moved."""
    counts.watch(KeyGrid, "over", "keys", lambda _, keys: len(keys))
    counts.watch(matching, "_ranges", "searched", lambda _, probe, *bounds_us: len(bounds_us) * len(probe.events))
    for written_out, owner in (("expanded", range_expansion), ("expanded_ranges", batch_join)):
        counts.watch(owner, written_out, "expanded", lambda pairs, *_: len(pairs[0]))
    counts.watch(ProbeBounds, "qualify", "tested", lambda qualifies, *_: len(qualifies))
    counts.watch(sorted_run, "merged", "moved", lambda columns, *_: len(columns[0]))
    counts.watch(sorted_run, "_enlarged", "moved", lambda _, column, __: len(column) // 4)  # called for each column
    counts.watch(SortedRun, "_move_to_front", "moved", lambda _, run: len(run))
    return counts


def events(rng: np.random.Generator, count: int, spacing_us: int, *, kinds: int, areas: int = 1) -> Detections:
    """Events in order, with templates of 1 to 8 ms (or of 4 ms)."""
    lengths_s = np.linspace(0.001, 0.008, kinds) if kinds > 1 else [0.004]
    return Detections(
        np.sort(rng.integers(0, count * spacing_us, count)),
        [Histogram.uniform(-length_s, 0) for length_s in lengths_s],
        rng.integers(0, kinds, count),
        area=rng.integers(0, areas, count) if areas > 1 else None,
    )


@pytest.mark.parametrize(("partners", "count_of_each"), [(1, 70_000), (10, 70_000), (100, 10_000)])
def test_batches_are_joined_in_work_that_grows_with_input_and_output(
    joined: CallCounts, partners: int, count_of_each: int
) -> None:
    rng = np.random.default_rng(partners)
    a, b = (events(rng, count_of_each, 40_000 // partners, kinds=1) for _ in range(2))
    pairs = timing_join(a, b, Window(0.02), 0.7)
    assert 0.9 * partners < len(pairs) / count_of_each < partners
    assert joined["expanded"] == len(pairs)  # one template a side: each range is the answer
    assert joined["tested"] == 0
    assert joined["searched"] == 2 * count_of_each
    assert joined["keys"] <= 1.1 * count_of_each


@pytest.mark.parametrize(("partners", "tested_of_a_pair"), [(1, 1.1), (10, 1.1), (100, 0.2)])
def test_mixed_templates_cost_tests_of_the_margins(joined: CallCounts, partners: int, tested_of_a_pair: float) -> None:
    rng, count_of_each = np.random.default_rng(partners), 20_000
    a, b = (events(rng, count_of_each, 40_000 // partners, kinds=8) for _ in range(2))
    pairs = timing_join(a, b, Window(0.02), 0.7)
    assert joined["expanded"] <= 1.1 * len(pairs)
    assert joined["tested"] <= tested_of_a_pair * len(pairs)  # with many partners those inside need no test
    assert joined["searched"] <= 4 * count_of_each


def pushed(held: int, areas: int = 1) -> tuple[int, int, int]:
    """Push three times as many events of two streams as are held; return pushes, the most held, and pairs."""
    frame, spacing_us = 100, 10_000
    x, y = (Stream(name, held * spacing_us / 1e6, 1) for name in "xy")
    join = TimingJoin(x, y, Window(2 * areas * spacing_us / 1e6), 0.5)
    rng, most, pairs = np.random.default_rng(held), 0, 0
    for start_us in range(0, 3 * held * spacing_us, frame * spacing_us):
        for stream in "xy":
            here = events(rng, frame, spacing_us, kinds=4, areas=areas)
            later = Detections(here.detected_at_us + start_us, here.templates, here.template_index, here.area)
            pairs += len(join.push(stream, later).insert)
            most = max(most, join.buffered(stream))
    return 6 * held // frame, most, pairs


@pytest.mark.parametrize("held", [500, 8_000])
def test_a_pushed_event_costs_no_more_where_more_are_buffered(joined: CallCounts, held: int) -> None:
    pushes, most, pairs = pushed(held)
    assert held <= most <= 1.6 * held
    assert joined["moved"] <= 6 * 100 * pushes  # room is found anew for a quarter of what is held at a time
    assert joined["searched"] + joined["keys"] <= 2 * 100 * pushes
    assert joined["expanded"] <= 1.1 * pairs
    assert joined["tested"] <= 1.1 * pairs


@pytest.mark.parametrize("areas", [4, 64])
def test_areas_cost_a_push_one_move_of_what_is_buffered_whatever_their_number(joined: CallCounts, areas: int) -> None:
    pushes, most, pairs = pushed(2_000, areas)
    assert joined["moved"] <= 1.25 * pushes * most
    assert joined["searched"] + joined["keys"] <= 2 * 100 * pushes
    assert joined["expanded"] <= 1.1 * pairs


@pytest.mark.parametrize("held", [10_000, 640_000])
@pytest.mark.parametrize("frame", [1, 100])
def test_what_a_push_moves_is_bounded_whatever_a_thousand_areas_hold(joined: CallCounts, held: int, frame: int) -> None:
    rng, buffer, nought = np.random.default_rng(held), Buffer(), np.zeros(held, np.int32)
    area, time_us = rng.integers(0, 1_000, held + 10_000).astype(np.int32), rng.integers(0, held, held + 10_000)
    buffer.insert(Events(area[:held], time_us[:held], nought, nought, np.arange(held)))
    for first in range(held, held + 10_000, frame):
        at = slice(first, first + frame)
        buffer.insert(Events(area[at], time_us[at], nought[:frame], nought[:frame], np.arange(first, at.stop)))
    assert joined["moved"] <= 10_000 // frame * (FEW_MOVED + 3 * MOVED_A_ROW * frame)
