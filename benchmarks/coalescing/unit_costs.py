"""What single operations of coalescing cost here: of the library's extents, and of the fusion job's.

The first are put beside the costs fitted to the paper's tables, the second beside those that the job's choice between
eager and lazy takes for granted where nobody measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide.coalescing import PAPER, UnitCosts, measure_costs
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.sliding.measured_costs import measure_sliding_costs

READINGS, ROUNDS = 10_000, 5


def of_the_library(options: Options) -> Iterator[Table]:
    """Yield the costs of extents of one group, in batches of 1,000, relative to an insertion and to a tuple."""
    here, rows = measure_costs(time.process_time, READINGS // (10 if options.quick else 1)), []
    for field in fields(UnitCosts):
        cost, fitted = getattr(here, field.name), getattr(PAPER, field.name)
        unit = (here.tuple_size, PAPER.tuple_size) if field.name.endswith("size") else (here.insert, PAPER.insert)
        rows.append([field.name, *(f"{each:.3f}" for each in (cost, cost / unit[0], fitted / unit[1]))])
    yield Table(("", "µs or bytes", "relative", "paper, relative"), rows)


def of_the_job(options: Options) -> Iterator[Table]:
    here = measure_sliding_costs(time.process_time, READINGS // (10 if options.quick else 1), ROUNDS)
    names = [field.name for field in fields(SlidingCosts)]
    rows = [[name, *(f"{1e6 * getattr(costs, name):.3f}" for costs in (here, TYPICAL))] for name in names]
    yield Table(("", "µs", "taken for granted, µs"), rows)


BENCHMARKS = [
    Benchmark("coalescing_unit_costs", "single operations of eager and lazy coalescing", [of_the_library]),
    Benchmark("sliding_unit_costs", "single operations of the fusion job's queries over readings", [of_the_job]),
]
