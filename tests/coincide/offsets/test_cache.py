"""Qualifying offsets of many template pairs against the library's own, pair by pair; what is kept stays bounded."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, Stream, TimingJoin, Window, satisfaction_offsets, timing_join
from coincide.joins.stream_buffers import SPARE_TEMPLATES
from coincide.offsets import PairLimits
from coincide.offsets.cache import TABLE_WORK, LookUps, OffsetCache
from coincide.offsets.pair_work import table_work
from coincide.probability import match_probabilities
from coincide.templates.codes import TemplateRegistry
from coincide.templates.families import rounded_up

WINDOW, THRESHOLD = Window(1.0), 0.2
TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-1, 1),
    Histogram([-1, 0, 5, 6], [0.5, 0, 0.5]),  # gaps: several intervals against most of the others
    Histogram([-1, 0, 3, 4, 9, 10], [0.3, 0, 0.3, 0, 0.4]),
]
SECOND = 1_000_000


@cache
def intervals(u: Histogram, v: Histogram) -> list[list[int]]:
    found: list[list[int]] = satisfaction_offsets(u, v, WINDOW, THRESHOLD).tolist()
    return found


def expected(templates: list[Histogram], u: int, v: int, offset: int) -> bool:
    return any(lo <= offset <= hi for lo, hi in intervals(templates[u], templates[v]))


@settings(max_examples=25)
@given(st.data(), st.integers(0, 20))
def test_offsets_qualify_as_their_own_pair_says_whatever_is_remembered(data: st.DataObject, most_pairs: int) -> None:
    known = TemplateRegistry()
    known.codes(TEMPLATES)
    remembered = OffsetCache(WINDOW, THRESHOLD, known, known, most_pairs)
    asked = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-13, 13)), min_size=1, max_size=12)
    for _ in range(4):
        u, v, offset_s = (np.array(column) for column in zip(*data.draw(asked), strict=True))
        answers = remembered.contain(u.astype(np.int32), v.astype(np.int32), offset_s * SECOND).tolist()
        triples = zip(u.tolist(), v.tolist(), (offset_s * SECOND).tolist(), strict=True)
        assert answers == [expected(TEMPLATES, *triple) for triple in triples]
        assert remembered.look_ups.pairs <= most_pairs


def test_offsets_of_many_random_pairs_qualify_as_their_own_pair_says() -> None:
    known = TemplateRegistry()
    known.codes(TEMPLATES)
    remembered = OffsetCache(WINDOW, THRESHOLD, known, known)
    draw = np.random.default_rng(1987)
    gapped = 0
    for size in (1, 3, 500, 500):
        u, v = draw.integers(0, 4, (2, size)).astype(np.int32)
        offset_us = draw.integers(-13 * SECOND, 13 * SECOND, size)
        triples = list(zip(u.tolist(), v.tolist(), offset_us.tolist(), strict=True))
        assert remembered.contain(u, v, offset_us).tolist() == [expected(TEMPLATES, *triple) for triple in triples]
        gapped += sum(2 in (i, j) or 3 in (i, j) for i, j, _ in triples)
    assert gapped > 100


def test_a_pair_is_known_once_it_has_come_often_and_the_least_recently_asked_goes_first() -> None:
    known = TemplateRegistry()
    codes = known.codes([Histogram.uniform(-n, n) for n in range(1, 10)])
    remembered = OffsetCache(Window(5), 0.1, known, known, most_pairs=8)

    def ask(nth: int, events: int = 1) -> LookUps:
        remembered.contain(codes[:1].repeat(events), codes[nth : nth + 1].repeat(events), np.zeros(events, np.int64))
        return remembered.look_ups

    for nth in range(8):
        assert ask(nth) == LookUps(hits=0, misses=nth + 1, pairs=nth + 1)
    assert ask(0, 2) == LookUps(hits=0, misses=9, pairs=8)
    assert ask(0) == LookUps(hits=0, misses=10, pairs=8)  # four events in a long window: its offsets are worked out
    assert ask(0) == LookUps(hits=1, misses=10, pairs=8)
    assert ask(8) == LookUps(hits=1, misses=11, pairs=7)  # one too many: an eighth goes as well, 1 and 2
    assert ask(0) == LookUps(hits=2, misses=11, pairs=7)
    assert ask(3) == LookUps(hits=2, misses=12, pairs=7)
    assert ask(1) == LookUps(hits=2, misses=13, pairs=8)


def test_certainty_asks_for_supports_even_of_a_pair_that_is_met_once() -> None:
    known = TemplateRegistry()
    codes = known.codes([Histogram.uniform(-10, 10)])
    remembered = OffsetCache(Window(20), 1.0, known, known)
    # a microsecond too far: the probability is 1 - 1.25e-15
    assert remembered.contain(codes.repeat(2), codes.repeat(2), np.array([0, 1])).tolist() == [True, False]


def test_changed_codes_keep_what_is_known() -> None:
    known = TemplateRegistry()
    codes = known.codes(TEMPLATES)
    remembered = OffsetCache(WINDOW, THRESHOLD, known, known)
    u, v = (side.ravel().astype(np.int32) for side in np.meshgrid(codes, codes))
    for _ in range(40):  # its offsets are known then, in a short window too
        remembered.contain(u, v, np.zeros(16, np.int64))
    new_code = known.keep_only(np.array([0, 2, 3], np.int32))
    remembered.recode(new_code, new_code)
    before = remembered.look_ups
    assert before.pairs < 16
    kept = [TEMPLATES[n] for n in (0, 2, 3)]
    known_u, known_v = (side[(u < 3) & (v < 3)] for side in (u, v))
    for offset_s in range(-12, 13):
        offset_us = np.full(9, offset_s * SECOND)
        answers = remembered.contain(known_u, known_v, offset_us).tolist()
        assert answers == [expected(kept, *triple) for triple in zip(known_u, known_v, offset_us, strict=True)]
    assert remembered.look_ups.hits - before.hits >= 25 * before.pairs // 2


def own_uncertainty(count: int, start: int, rng: np.random.Generator, digits: int | None) -> Detections:
    """Events a second apart, each with a random sigma of its own."""
    sigmas = np.exp(rng.uniform(np.log(0.1), np.log(2.0), count)).tolist()
    sigmas = sigmas if digits is None else [rounded_up(sigma, digits) for sigma in sigmas]
    at = (start + np.arange(count)) * SECOND + rng.integers(0, SECOND, count)
    return Detections(at, [Histogram.normal(sigma) for sigma in sigmas], range(count))


def test_a_stream_in_which_every_event_has_its_own_uncertainty_keeps_no_more_than_its_buffer_needs() -> None:
    streams = Stream("x", 30, 20), Stream("y", 30, 20)
    limits = PairLimits(table=100_000, cached=1000)
    join = TimingJoin(*streams, Window(2.0), 0.5, pair_limits=limits)
    rng = np.random.default_rng(7)
    most = 0
    frames: dict[str, list[Detections]] = {"x": [], "y": []}
    found: list[tuple[int, int]] = []
    for step in range(25):
        for stream, parts in frames.items():
            parts.append(own_uncertainty(20, 20 * step, rng, None))
            changes = join.push(stream, parts[-1])
            found += zip(changes.insert.left.tolist(), changes.insert.right.tolist(), strict=True)
            held = join.buffered("x") + join.buffered("y")
            most = max(most, held)
            assert join.templates_known <= 2 * held + 2 * SPARE_TEMPLATES + 40
            assert join.look_ups.pairs <= 1000
    assert most < 300  # of 1,000
    assert join.look_ups.misses > 1000
    # rows are numbered in the order of arrival: 20 of x, 20 of y, and so on
    by_definition = pairs_by_definition(joined(frames["x"]), joined(frames["y"]), Window(2.0), 0.5)
    assert len(found) > 300
    assert sorted(found) == sorted((i // 20 * 40 + i % 20, j // 20 * 40 + 20 + j % 20) for i, j in by_definition)


def joined(parts: list[Detections]) -> Detections:
    templates = [template for part in parts for template in part.templates]
    return Detections(np.concatenate([part.detected_at_us for part in parts]), templates, range(len(templates)))


def pairs_by_definition(x: Detections, y: Detections, window: Window, threshold: float) -> set[tuple[int, int]]:
    """Every pair tried; none of these templates reaches further than 8 s."""
    offset_us = y.detected_at_us - x.detected_at_us[:, None]
    left, right = np.nonzero(np.abs(offset_us) <= 16 * SECOND + max(-window.lo_us, window.hi_us))
    probability = match_probabilities(x.templates, y.templates, left, right, offset_us[left, right], window)
    found = probability >= threshold
    return set(zip(left[found].tolist(), right[found].tolist(), strict=True))


@pytest.mark.parametrize("window", [Window(2.0), Window(lo_s=1.0, hi_s=4.0)], ids=str)
def test_frames_in_which_every_event_has_its_own_uncertainty_are_joined_by_definition(window: Window) -> None:
    rng = np.random.default_rng(9)
    x, y = own_uncertainty(300, 0, rng, None), own_uncertainty(300, 0, rng, None)
    assert table_work(x.templates, y.templates, window) > TABLE_WORK
    pairs = timing_join(x, y, window, 0.4)
    assert len(pairs) > 300
    expected_pairs = pairs_by_definition(x, y, window, 0.4)
    assert set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == expected_pairs
    own = timing_join(x, None, window, 0.4)
    both_ways = {(i, j) for i, j in pairs_by_definition(x, x, window, 0.4) if i != j}
    once = {(i, j) for i, j in both_ways if x.detected_at_us[i] < x.detected_at_us[j]}
    found = list(zip(own.left.tolist(), own.right.tolist(), strict=True))
    assert sorted(found) == sorted(once if window.is_symmetric else both_ways)


@pytest.mark.parametrize(("digits", "least", "greatest"), [(None, 0.0, 0.0), (3, 0.0, 0.1), (1, 0.2, 1.0)])
def test_quantising_a_family_makes_pairs_meet_again(digits: int | None, least: float, greatest: float) -> None:
    join = TimingJoin(Stream("x", 30, 20), Stream("y", 30, 20), Window(2.0), 0.5, pair_limits=PairLimits(table=0))
    rng = np.random.default_rng(8)
    for step in range(15):
        for stream in ("x", "y"):
            join.push(stream, own_uncertainty(20, 20 * step, rng, digits))
    done = join.look_ups
    assert least <= done.hits / (done.hits + done.misses) <= greatest


@pytest.mark.parametrize("bad", [-1, True, 1.5])
def test_limits_are_whole_numbers(bad: int) -> None:
    with pytest.raises(CoincideError, match="cached"):
        PairLimits(cached=bad)
