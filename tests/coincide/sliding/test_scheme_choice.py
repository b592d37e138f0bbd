"""The choice of a scheme: by what was counted, for all rules of a source together, and not at every breath."""

from dataclasses import fields, replace

import pytest

from coincide.errors import CostError
from coincide.sliding.choice import TYPICAL, WORTH_SWITCHING, SchemeChoice, SlidingCosts, choose_schemes
from coincide.sliding.counts import ArrivalCounts, ScanCounts

LAZY, EAGER = SchemeChoice("lazy"), SchemeChoice("eager")
FREE = SlidingCosts(**{field.name: 0.0 for field in fields(SlidingCosts)})
PER_SCAN = replace(FREE, scan_eager=1.0, scan_lazy=1.0)


def chosen(costs: SlidingCosts, *now: SchemeChoice, scans: float = 10) -> list[str]:
    scanned = [ScanCounts(scans, 100 * scans, scans, 50 * scans) for _ in now]
    return [choice.scheme for choice in choose_schemes(ArrivalCounts(1000, 0), scanned, now, costs)]


def test_nothing_is_chosen_before_something_is_known() -> None:
    scanned = ScanCounts(100, 1000, 10, 10)
    assert choose_schemes(ArrivalCounts(63, 0), [scanned], [LAZY], TYPICAL) == [LAZY]
    assert choose_schemes(ArrivalCounts(100, 0), [ScanCounts(1, 10, 1, 1)], [EAGER], TYPICAL) == [EAGER]


def test_a_switch_must_be_worth_it() -> None:
    dearer = replace(PER_SCAN, scan_lazy=1 / WORTH_SWITCHING + 0.01)
    hardly = replace(PER_SCAN, scan_lazy=1 / WORTH_SWITCHING - 0.01)
    assert (chosen(dearer, LAZY), chosen(hardly, LAZY), chosen(hardly, EAGER)) == (["eager"], ["lazy"], ["eager"])
    assert chosen(replace(PER_SCAN, insert_run=1.0, merge=1.0), EAGER) == ["lazy"]


def test_the_shared_extent_is_saved_only_if_nobody_needs_it() -> None:
    """Each alone would rather be lazy; together they would rather not keep what only they need."""
    costs = replace(PER_SCAN, scan_lazy=0.9, insert=0.001)
    assert chosen(costs, LAZY, LAZY) == ["lazy", "lazy"]
    assert chosen(replace(costs, insert=0.01), LAZY, LAZY) == ["eager", "eager"]


def test_a_rule_that_nobody_asks_stays_lazy() -> None:
    asked, paused = ScanCounts(10, 1000, 10, 20), ScanCounts()
    choices = choose_schemes(ArrivalCounts(10, 0), [asked, paused], [LAZY, EAGER], TYPICAL)
    assert [choice.scheme for choice in choices] == ["lazy", "eager"]  # too little to decide
    choices = choose_schemes(ArrivalCounts(100, 0), [asked, paused], [LAZY, EAGER], TYPICAL)
    assert (choices[1].scheme, choices[1].eager_cost_s) == ("lazy", None)


def test_the_reason_has_the_numbers() -> None:
    [choice] = choose_schemes(ArrivalCounts(500, 125), [ScanCounts(10, 4000, 100, 1000)], [LAZY], TYPICAL)
    assert choice.reason.startswith("lazy: 77 % of readings coalesce, 25 % come out of order, 50 a slide over 400; ")
    lazy_ms, eager_ms = (1e3 * (cost_s or 0) for cost_s in (choice.lazy_cost_s, choice.eager_cost_s))
    assert choice.reason.endswith(f"; {lazy_ms:.2g} ms a slide, eagerly {eager_ms:.2g}")
    [choice] = choose_schemes(ArrivalCounts(1000, 20), [ScanCounts(1000, 100_000, 1000, 3000)], [LAZY], TYPICAL)
    assert choice.reason == (
        "eager: 98 % of readings coalesce, 2 % come out of order, 1 a slide over 100; 0.043 ms a slide, lazily 0.14"
    )


def test_late_readings_and_runs_make_eager_dearer_and_readings_lazy() -> None:
    def costs(late: float, readings: float, runs: float) -> tuple[float, float]:
        found = TYPICAL.of(ArrivalCounts(100, late), [ScanCounts(10, readings, 10, runs)])
        return float(found.eager[0]), float(found.lazy_scan[0])

    eager, lazy = costs(0, 1000, 10)
    assert costs(50, 1000, 10)[0] == pytest.approx(eager + 50 * TYPICAL.insert_late)
    assert costs(50, 1000, 10)[1] == lazy
    assert costs(0, 1000, 500)[0] > eager
    assert costs(0, 9000, 10)[1] == pytest.approx(lazy + 8000 * TYPICAL.read)


def test_what_was_counted_fades() -> None:
    arrived, scanned = ArrivalCounts(100, 10), ScanCounts(4, 400, 8, 40)
    shares = arrived.out_of_order, scanned.coalesced
    arrived.halve()
    scanned.halve()
    assert (arrived, scanned) == (ArrivalCounts(50, 5), ScanCounts(2, 200, 4, 20))
    assert (arrived.out_of_order, scanned.coalesced) == shares
    assert (ArrivalCounts().out_of_order, ScanCounts().coalesced) == (0, 0)


def test_a_cost_is_a_number_of_seconds() -> None:
    with pytest.raises(CostError, match="read_run"):
        replace(TYPICAL, read_run=-1.0)
