"""Sources: whether one source explains some reports, or how many of them, where it was and when."""

from __future__ import annotations

from coincide.sources.consistency import SourceProbability, source_probability
from coincide.sources.explained_sets import ExplainedSet, largest_set
from coincide.sources.locating import Ellipse, Region, SourceLocation, located_source
from coincide.sources.source_rule import SourceRule
from coincide.sources.source_test import ExplainedBy, ReportSets, SourceTest

__all__ = [
    "Ellipse",
    "ExplainedBy",
    "ExplainedSet",
    "Region",
    "ReportSets",
    "SourceLocation",
    "SourceProbability",
    "SourceRule",
    "SourceTest",
    "largest_set",
    "located_source",
    "source_probability",
]
