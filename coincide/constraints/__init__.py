"""Constraints: what must hold between the members of a match.

Windows and thresholds, graphs of them between roles, which roles may be absent, and from which sensors members may
come.
"""

from __future__ import annotations

from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import JoinCondition, SensorRule
from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.window import Window

__all__ = ["AtLeast", "ConstraintGraph", "Edge", "JoinCondition", "SensorRule", "Window"]
