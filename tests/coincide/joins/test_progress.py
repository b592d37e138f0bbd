"""Long joins say how far they have come, and answer the same whether anybody listens or not."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window, timing_join, window_join
from coincide.errors import DetectionsError
from coincide.joins import timing_join_blocks, window_join_blocks
from coincide.joins.pairs import pair_join
from coincide.joins.search import set_search
from coincide.joins.tuples import enumeration, required_members
from coincide.joins.tuples.maximal_sets import CompatibleEvents

CLOCK = Histogram.uniform(-1, 1)
GRAPH = ConstraintGraph.clique("abc", Window(2), threshold=0.3)


def batch(seed: int, rows: int = 200) -> Detections:
    return Detections(np.random.default_rng(seed).integers(0, 200_000_000, rows), [CLOCK])


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_join, "PROBING_ROWS", 50)
    monkeypatch.setattr(enumeration, "ROOT_ROWS", 50)


def rises_to_one(shares: list[float]) -> bool:
    return len(shares) >= 5 and shares == sorted(shares) and shares[0] < 0.5 and shares[-1] == 1.0


def test_a_timing_join_says_how_far_it_has_come() -> None:
    a, b, shares = batch(1), batch(2), list[float]()
    heard = timing_join(a, b, Window(2), 0.3, progress=shares.append)
    assert rises_to_one(shares)
    unheard = timing_join(a, b, Window(2), 0.3)
    assert (heard.left.tolist(), heard.right.tolist()) == (unheard.left.tolist(), unheard.right.tolist())
    shares.clear()
    blocks = timing_join_blocks(a, None, Window(2), 0.3, progress=shares.append)
    assert shares == []  # nothing is done before it is asked for
    assert sum(map(len, blocks)) > 0
    assert rises_to_one(shares)


def test_a_window_join_says_how_far_it_has_come() -> None:
    batches, shares = {name: batch(seed) for seed, name in enumerate("abc")}, list[float]()
    heard = window_join(batches, GRAPH, progress=shares.append)
    assert rises_to_one(shares)
    assert heard.members.tolist() == window_join(batches, GRAPH).members.tolist()
    shares.clear()
    assert sum(map(len, window_join_blocks(batches, GRAPH, progress=shares.append))) == len(heard)
    assert rises_to_one(shares)
    shares.clear()
    pair = ConstraintGraph.binary("a", "b", Window(2), 0.3)
    window_join({name: batches[name] for name in "ab"}, pair, progress=shares.append)
    assert rises_to_one(shares)


@pytest.mark.parametrize("at_least", [2, AtLeast(1, of=["b", "c"])], ids=["any", "required"])
def test_a_join_of_sets_says_how_far_it_has_come(at_least: int | AtLeast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(required_members, "MOST_LAST", 50)
    in_small_parts = partial(CompatibleEvents.of, block=50)
    monkeypatch.setattr(set_search, "CompatibleEvents", SimpleNamespace(of=in_small_parts))
    batches, shares = {name: batch(seed) for seed, name in enumerate("abc")}, list[float]()
    heard = window_join(batches, GRAPH, at_least=at_least, progress=shares.append)
    assert rises_to_one(shares)
    assert len([share for share in shares if 0.3 < share < 1]) > 3
    assert heard.members.tolist() == window_join(batches, GRAPH, at_least=at_least).members.tolist()


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(DetectionsError, match="progress"):
        timing_join(batch(1), None, Window(2), 0.3, progress="bar")  # type: ignore[arg-type]
    with pytest.raises(DetectionsError, match="progress"):
        window_join({name: batch(1) for name in "abc"}, GRAPH, progress=7)  # type: ignore[arg-type]
