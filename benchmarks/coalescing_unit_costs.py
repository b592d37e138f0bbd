"""Unit costs of eager and lazy coalescing on this machine, beside those fitted to the paper's tables.

Run as ``python -m benchmarks.coalescing_unit_costs``. Readings come in frames of 1,000; all are of one group.
"""

from __future__ import annotations

import time
from dataclasses import fields

from coincide.coalescing import PAPER, UnitCosts, measure_costs

W = 10_000


def main() -> None:
    here = measure_costs(time.process_time, W)
    print(f"{'extent of ' + format(W, ',') + ' tuples':>24} {'us, bytes':>10} {'/ insert':>9} {'paper':>9}")
    for field in fields(UnitCosts):
        cost, fitted = getattr(here, field.name), getattr(PAPER, field.name)
        unit = (here.tuple_size, PAPER.tuple_size) if field.name.endswith("size") else (here.insert, PAPER.insert)
        print(f"{field.name:>24} {cost:10.3f} {cost / unit[0]:9.3f} {fitted / unit[1]:9.3f}")


if __name__ == "__main__":
    main()
