"""Sources: whether one source explains some reports, where it was and when."""

from __future__ import annotations

from coincide.sources.consistency import SourceProbability, source_probability
from coincide.sources.locating import Ellipse, Region, SourceLocation, located_source
from coincide.sources.source_rule import SourceRule

__all__ = [
    "Ellipse",
    "Region",
    "SourceLocation",
    "SourceProbability",
    "SourceRule",
    "located_source",
    "source_probability",
]
