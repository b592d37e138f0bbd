"""What eager and lazy coalescing cost, and which of them each query should use."""

from __future__ import annotations

from coincide.coalescing.costs.measuring import measure_costs
from coincide.coalescing.costs.schemes import (
    DistinctQuery,
    SchemeCosts,
    Selection,
    Weights,
    cost_of,
    scheme_costs,
    select_schemes,
)
from coincide.coalescing.costs.units import PAPER, UnitCosts

__all__ = [
    "PAPER",
    "DistinctQuery",
    "SchemeCosts",
    "Selection",
    "UnitCosts",
    "Weights",
    "cost_of",
    "measure_costs",
    "scheme_costs",
    "select_schemes",
]
