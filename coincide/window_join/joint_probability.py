"""The joint probability of k members: that all windows of a constraint graph hold at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.errors import OffsetError
from coincide.histogram import FloatArray, Histogram
from coincide.posterior_members import Members
from coincide.posterior_pieces import PosteriorPieces
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint_blocks import Tuples
from coincide.window_join.joint_plan import plan
from coincide.window_join.joint_links import Links
from coincide.window_join.joint_members import PlacedMember

ELEMENTS_PER_STEP = 16_384


@dataclass(frozen=True, eq=False)
class JointProbability:
    lower: FloatArray
    upper: FloatArray
    value: FloatArray


def joint_probabilities(graph, templates, template_index, detected_at_us):
    tuples = Tuples(templates, np.asarray(template_index, dtype=np.int64), np.asarray(detected_at_us, dtype=np.int64))
    links = Links.of(graph)
    value = np.empty(len(tuples))
    radius=np.zeros(len(tuples));RADIUS=5e-4
    window = graph.uniform_window
    for block in tuples.blocks(ELEMENTS_PER_STEP):
        if window is not None:
            value[block.rows] = PosteriorPieces(Members(block.templates, block.reported, window)).mass
        else:
            members = {i: PlacedMember.of(t, r) for i, (t, r) in enumerate(zip(block.templates, block.reported, strict=True))}
            edges = {i: len(each.edges.high) for i, each in members.items()}
            est = plan(links, edges, block.points, RADIUS).estimate(members)
            value[block.rows] = est.value; radius[block.rows]=est.radius
    value = np.clip(value, 0, 1)
    return JointProbability(value-radius, value+radius, value)
