"""Coincide: which things happened together when every sensor is late by an unknown, calibrated amount.

These are the names that most users need; each package has the rest. A name loads the package it comes from when it is
first used, so ``import coincide`` is quick and one concept loads only what it stands on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coincide.arrays.changes import Changes as Changes
    from coincide.coalescing import Bounded as Bounded
    from coincide.coalescing import Decreasing as Decreasing
    from coincide.coalescing import EagerCoalescing as EagerCoalescing
    from coincide.coalescing import Equal as Equal
    from coincide.coalescing import Increasing as Increasing
    from coincide.coalescing import LazyCoalescing as LazyCoalescing
    from coincide.coalescing import Quantised as Quantised
    from coincide.coalescing import Runs as Runs
    from coincide.coalescing import WindowExtent as WindowExtent
    from coincide.coalescing import coalesce as coalesce
    from coincide.coalescing import coalesce_readings as coalesce_readings
    from coincide.coalescing import validity as validity
    from coincide.constraints import AtLeast as AtLeast
    from coincide.constraints import ConstraintGraph as ConstraintGraph
    from coincide.constraints import Edge as Edge
    from coincide.constraints import Window as Window
    from coincide.errors import CoincideError as CoincideError
    from coincide.evidence import Network as Network
    from coincide.evidence import evidence_of as evidence_of
    from coincide.evidence import shared_out as shared_out
    from coincide.joins import Detections as Detections
    from coincide.joins import Pairs as Pairs
    from coincide.joins import Tuples as Tuples
    from coincide.joins import timing_join as timing_join
    from coincide.joins import window_join as window_join
    from coincide.live import TimingJoin as TimingJoin
    from coincide.live import WindowJoin as WindowJoin
    from coincide.offsets import SatisfactionTable as SatisfactionTable
    from coincide.offsets import satisfaction_offsets as satisfaction_offsets
    from coincide.probability import Occurred as Occurred
    from coincide.probability import joint_probabilities as joint_probabilities
    from coincide.probability import match_probability as match_probability
    from coincide.probability import occurred as occurred
    from coincide.stream import Stream as Stream
    from coincide.templates import Histogram as Histogram
    from coincide.templates import goodness_of_fit as goodness_of_fit
    from coincide.thresholds import Attainable as Attainable
    from coincide.thresholds import attainable as attainable
    from coincide.thresholds import chance_rate as chance_rate

__version__ = "0.1.0"

_NAMES = {
    "arrays.changes": "Changes",
    "coalescing": "Bounded Decreasing EagerCoalescing Equal Increasing LazyCoalescing Quantised Runs WindowExtent "
    "coalesce coalesce_readings validity",
    "constraints": "AtLeast ConstraintGraph Edge Window",
    "errors": "CoincideError",
    "evidence": "Network evidence_of shared_out",
    "joins": "Detections Pairs Tuples timing_join window_join",
    "live": "TimingJoin WindowJoin",
    "stream": "Stream",
    "offsets": "SatisfactionTable satisfaction_offsets",
    "probability": "Occurred joint_probabilities match_probability occurred",
    "templates": "Histogram goodness_of_fit",
    "thresholds": "Attainable attainable chance_rate",
}
_HOMES = {name: f"coincide.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of strings, made from the table of homes


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coincide' has no attribute {name!r}: its packages have the rest")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # looked up once
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
