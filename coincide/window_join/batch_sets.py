"""Batch sets: at least m of k members of a clique, in whole frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from coincide.detections import Detections
from coincide.stream_buffers import StreamBuffers
from coincide.timing_join.frame_labels import FrameLabels
from coincide.timing_join.pair_limits import USUAL_LIMITS
from coincide.timing_join.sensor_rule import SensorRule
from coincide.timing_join.sorted_frames import events_of
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.installed_graph import InstalledGraph, checked_at_least
from coincide.window_join.maximal_sets import MemberSet
from coincide.window_join.member_labels import MemberLabels
from coincide.window_join.partial_sets import PartialSets
from coincide.window_join.tuples import Tuples


def maximal_tuples(
    frames: Mapping[str, Detections],
    graph: ConstraintGraph,
    thresholds: Sequence[float],
    joint: float | None,
    sensors: SensorRule,
    at_least: int,
) -> Tuples:
    """Return the maximal compatible sets of at least so many members, sorted by them; one stream after the other.

    Parameters are those of `window_join`, checked; `thresholds` those of the edges.
    """
    names = {id(frames[name]): name for name in graph.streams}  # one frame under two names is one stream
    players = {name: names[id(frames[name])] for name in graph.streams}
    installed = InstalledGraph(graph, players, thresholds, USUAL_LIMITS)
    labels = MemberLabels(FrameLabels(orders_ties=False), is_keyed=False)
    sets = PartialSets(installed, checked_at_least(at_least, installed), joint, sensors, labels)
    live, first = set[MemberSet](), {}
    held, rows = StreamBuffers(graph.streams), 0
    for name, events in zip(graph.streams, events_of([frames[name] for name in graph.streams]), strict=True):
        batch = held.coded(name, replace(events, ref=np.arange(rows, rows + len(events))), frames[name].templates)
        for grown, before in sets.grow(name, batch, held):
            live.add(grown)
            live.discard(before or frozenset())
        first[name], rows = rows, rows + len(events)
    found = sets.tuples(sorted(live, key=lambda members: _in_role_order(members, list(first.values()))))
    found.members -= np.where(found.present, list(first.values()), 0)
    return found


def _in_role_order(members: MemberSet, first: Sequence[int]) -> list[int]:
    """Return the ref of each role's member, -1 where it is absent."""
    refs = [-1] * len(first)
    for ref in members:
        refs[int(np.searchsorted(first, ref, side="right")) - 1] = ref
    return refs
