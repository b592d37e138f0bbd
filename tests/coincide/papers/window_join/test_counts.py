"""The window join paper's claims, in counts: who works less, who waits, and where they cross."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.papers.counted_answer import Work
from coincide.papers.recording import Recording
from coincide.papers.window_join import variants
from docs.studies.window_join_work import ANY_GRAPH, UNIFORM, WIDE, Setting, operations, response_s, works


def work_at(rate_hz: float, names: Iterable[str] = UNIFORM) -> dict[str, Work]:
    return works(Setting(rate_hz=rate_hz, arrivals=600), names)


def test_bew_never_waits_and_few_waits_longer_the_slower_the_streams() -> None:
    slow, fast = work_at(1.0), work_at(16.0)
    for name in ("bew-nested-loop", "bew-hash"):
        assert slow[name].longest_wait_us == slow[name].waited_us == 0
    for name in ("few-nested-loop", "few-hash"):
        assert slow[name].waited_us > 10 * fast[name].waited_us > 0
        assert slow[name].longest_wait_us > 10 * fast[name].longest_wait_us


@pytest.mark.parametrize(("bew", "few", "low_hz", "high_hz"), [(*UNIFORM[:2], 1.0, 16.0), (*UNIFORM[2:], 4.0, 32.0)])
def test_bew_works_less_at_low_rates_and_few_at_high_ones(bew: str, few: str, low_hz: float, high_hz: float) -> None:
    low, high = work_at(low_hz, [bew, few]), work_at(high_hz, [bew, few])
    assert low[bew].operations < low[few].operations
    assert high[bew].operations > 1.2 * high[few].operations


def test_few_tests_a_bounded_number_of_windows_whatever_the_rate() -> None:
    few = [work_at(rate_hz)["few-nested-loop"].windows_tested / 600 for rate_hz in (4.0, 8.0, 16.0, 32.0)]
    assert max(few) < 7  # of three streams
    assert work_at(32.0)["bew-nested-loop"].windows_tested / 600 > 100


def test_few_does_not_look_at_tuples_that_a_slow_stream_leaves_alone() -> None:
    exact, random = [Histogram.point()], np.random.default_rng(1)
    counts = {"a": 400, "b": 400, "c": 5}
    streams = {name: Detections(np.sort(random.integers(0, 50_000_000, n)), exact) for name, n in counts.items()}
    graph = ConstraintGraph.clique("abc", Window(1.0))
    bew, few = (run(Recording(streams), graph) for run in (variants.bew_nested_loop, variants.few_nested_loop))
    assert bew.work.scanned > 2 * few.work.scanned
    assert len(few.members) > 0


def test_responses_cross_where_bew_cannot_keep_up() -> None:
    names = ("bew-hash", "few-hash")
    slow, fast = (Setting(rate_hz=rate_hz, arrivals=1_500) for rate_hz in (16.0, 128.0))
    (slow_bew_s, slow_few_s), (fast_bew_s, fast_few_s) = (
        [response_s(setting, work) for work in works(setting, names).values()] for setting in (slow, fast)
    )
    assert slow_bew_s < slow_few_s / 100
    assert fast_few_s < 0.1
    assert fast_bew_s == np.inf


def test_a_hash_table_touches_fewer_by_the_number_of_keys() -> None:
    work = work_at(16.0)
    for how in ("bew", "few"):
        nested, hashed = work[f"{how}-nested-loop"], work[f"{how}-hash"]
        assert 7 < nested.scanned / hashed.scanned < 14
        assert nested.predicates > hashed.predicates == 0


def test_lca_works_less_than_gca_and_bew_along_the_edges_least() -> None:
    setting = replace(WIDE, wide_s=3.0, arrivals=800)
    work = works(setting, ANY_GRAPH)
    for how in ("bew", "few"):
        assert work[f"lca-{how}"].windows_tested < work[f"gca-{how}"].windows_tested / 2
        assert work[f"lca-{how}"].scanned < work[f"gca-{how}"].scanned / 2
    least = min(ANY_GRAPH, key=lambda name: operations(setting, work[name]))
    assert least == "bew-direct"


def test_gca_and_lca_are_one_where_all_windows_are_equal() -> None:
    work = works(Setting(streams=4, rate_hz=4.0, wide_s=1.0, arrivals=400), ANY_GRAPH)
    assert work["gca-bew"] == work["lca-bew"]
    assert work["gca-few"] == work["lca-few"]
