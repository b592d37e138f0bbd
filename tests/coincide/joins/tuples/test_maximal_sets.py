"""Maximal sets against the whole answer, found anew before and after every arrival; test_tuple_stream.py has more."""

from contextlib import nullcontext
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window, window_join
from coincide.errors import CandidateLimitError
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.required_members import CandidateCounts
from tests.reference.call_counts import CallCounts

EVENTS = 7
PAIRS = list(combinations(range(EVENTS), 2))
TRIPLES = list(combinations(range(EVENTS), 3))

Set = frozenset[int]


def events_of(
    pairs: list[tuple[int, int]], *, barred: set[Set] | None = None, most: int = 1000, block: int = 65_536
) -> CompatibleEvents:
    """Events by number; sets with one of `barred` inside do not hold."""

    def holds(sets: np.ndarray) -> np.ndarray:
        return np.array([not any(three <= set(each) for three in barred or ()) for each in sets.tolist()], np.bool_)

    near = np.array(pairs, np.intp).reshape(-1, 2).T
    return CompatibleEvents.of(np.arange(EVENTS), near, holds if barred else None, most, block)


def growths(events: CompatibleEvents, since: int, m: int) -> dict[Set, bool]:
    found = [
        (frozenset(each), supersedes)
        for sets, enlarge in events.growths(since, m)
        for each, supersedes in zip(sets.tolist(), enlarge.tolist(), strict=True)
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.mark.parametrize("block", [1, 65_536])
@given(
    apart=st.sets(st.sampled_from(PAIRS), max_size=8),
    barred=st.sets(st.sampled_from(TRIPLES), max_size=12),
    m=st.integers(2, 4),
    since=st.integers(0, EVENTS - 1),
)
def test_what_may_not_stand_though_its_pairs_do(
    apart: set[tuple[int, int]], barred: set[tuple[int, int, int]], m: int, since: int, block: int
) -> None:
    """Seven events: some pairs are incompatible, and some three are so only all together."""

    def answer(arrived: int) -> set[Set]:
        every = [frozenset(each) for size in range(1, EVENTS + 1) for each in combinations(range(arrived), size)]
        wrong = [set(each) for each in (*barred, *apart)]
        standing = [each for each in every if not any(each >= bad for bad in wrong)]
        return {each for each in standing if len(each) >= m and not any(each < other for other in standing)}

    pairs = [pair for pair in PAIRS if pair not in apart]
    found = growths(events_of(pairs, barred=set(map(frozenset, barred)), block=block), since, m)
    for event in range(EVENTS):
        own = {each: enlarges for each, enlarges in found.items() if max(each) == event}
        if event < since:
            assert not own
            continue
        before, after = answer(event), answer(event + 1)
        assert set(own) == after - before
        assert {each - {event} for each, enlarges in own.items() if enlarges} == before - after


def test_a_row_with_too_many_candidates_is_named_whatever_the_block() -> None:
    """Of 7 events that all fit, the fourth looks at 3 + 1 larger candidates than pairs, the fifth at 6 + 4 + 1."""
    for since in range(5):
        growing, found = events_of(PAIRS, most=10).growths(since, 2), list[int]()
        with pytest.raises(CandidateLimitError, match="more than 10") as refusal:
            found.extend(last for sets, _ in growing for last in sets[:, 0].tolist())
        assert refusal.value.row == 4
        assert found == list(range(max(since, 1), 4))


def test_a_row_with_too_many_candidates_completes_no_small_sets_either() -> None:
    """The last event has a pair of its own, and five partners that all fit: 15 + 10 + 5 + 1 candidates."""
    pairs = [pair for pair in PAIRS if 0 not in pair or pair == (0, 6)]
    for most, refused in [(31, False), (30, True), (25, True), (15, True), (5, True)]:
        growing, found = events_of(pairs, most=most).growths(6, 2), list[list[int]]()
        with pytest.raises(CandidateLimitError) if refused else nullcontext():
            found.extend(each for sets, _ in growing for each in sets.tolist())
        assert sorted(found) == ([] if refused else [[6, 0], [6, 1, 2, 3, 4, 5]])


def batches(events: int) -> dict[str, Detections]:
    rng, templates = np.random.default_rng(1), [Histogram.uniform(-2, 0)]
    return {role: Detections(rng.integers(0, 1_800_000 * events, events), templates) for role in "abc"}


def test_sets_are_judged_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of sets with one call for each size, not one by one."""
    counts = CallCounts(monkeypatch)
    counts.watch(MemberColumns, "at_least", "calls", lambda *_: 1)
    counts.watch(MemberColumns, "at_least", "sets", lambda holds, *_: len(holds))
    sets = window_join(batches(500), ConstraintGraph.clique("abc", Window(1)), threshold=0.4, at_least=2)
    assert len(sets) > 1500
    assert counts["sets"] > 500
    assert counts["calls"] == 1


def test_optional_members_alone_are_never_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of shots within one window and no camera: without it three microphones would make 27 million sets."""
    counts = CallCounts(monkeypatch)
    counts.watch(CandidateCounts, "add", "candidates", lambda _, __, ___, candidates: int(candidates.sum()))
    names = ("camera", "m1", "m2", "m3")
    graph = ConstraintGraph.clique(names, Window(5), 0.3)
    shots = {name: Detections(np.arange(300) * 1000, [Histogram.uniform(-2, 0)]) for name in names[1:]}
    pictures = Detections([3_600_000_000], [Histogram.uniform(-2, 0)])
    heard = AtLeast(2, of=names[1:])
    assert len(window_join({"camera": pictures, **shots}, graph, at_least=heard)) == 0
    assert counts["candidates"] == 0


def test_a_join_refuses_more_candidates_than_it_may_look_at() -> None:
    graph = ConstraintGraph.clique("abc", Window(1))
    with pytest.raises(CandidateLimitError, match="max_candidates is 2"):
        window_join(batches(500), graph, threshold=0.4, at_least=2, max_candidates=2)


def test_frameswithout_events_have_no_sets() -> None:
    nobody = Detections([], [Histogram.point()])
    for frames in (dict.fromkeys("abc", nobody), {role: Detections([], [Histogram.point()]) for role in "abc"}):
        assert len(window_join(frames, ConstraintGraph.clique("abc", Window(1), 0.5), at_least=2)) == 0
