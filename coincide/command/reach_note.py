"""What an answer cannot be other than empty for: said before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from itertools import chain
from typing import TypeVar

import numpy as np

from coincide.command.chance.chance_note import reach_s
from coincide.command.faults import note
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import Window
from coincide.joins.detections import Detections
from coincide.offsets.pair_work import table_work
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import offset_lengths_s
from coincide.thresholds.peaks import attainable_of_pairs

MOST_WORK = 2.0**24  # bucket pairs: up to a second; beyond it nothing is said

Block = TypeVar("Block", bound=Sized)


def noted_if_empty(blocks: Iterator[Block], say: Callable[[], None]) -> Iterator[Block]:
    """Return the blocks from the first with rows on; call `say` before it returns if there is none."""
    for block in blocks:
        if len(block):
            return chain([block], blocks)
    say()
    return iter(())


def note_apart(batches: Mapping[str, Detections], graph: ConstraintGraph) -> bool:
    """Say so where two roles have no times that could belong together, and by how much they miss; return whether.

    The names of the batches are shown.
    """
    if any(len(batch) == 0 for batch in batches.values()):
        return False
    ends = {name: (int(at.min()), int(at.max())) for name, at in ((n, b.detected_at_us) for n, b in batches.items())}
    reach_us = reach_s(batches, graph) * 1e6
    for edge in graph.edges:
        earlier, later = sorted((edge.a, edge.b), key=ends.__getitem__)
        apart_us = ends[later][0] - ends[earlier][1]
        if apart_us > reach_us:
            apart = f"{apart_us / 1e6:,.3f}".rstrip("0").rstrip(".")
            note(f"{earlier} and {later} do not overlap: {later} begins {apart} s after {earlier} ends")
            return True
    return False


def note_out_of_reach(a: Detections, b: Detections, window: Window, threshold: float) -> None:
    """Say so where no pair of their templates can reach the threshold, with the most that one attains."""
    us, vs = ([*dict.fromkeys(side.templates[at] for at in np.unique(side.template_index))] for side in (a, b))
    if not us or not vs or table_work(us, vs, window) > MOST_WORK:
        return
    pairs = TemplatePairs(us, vs, *np.divmod(np.arange(len(us) * len(vs)), len(vs)))
    if not offset_lengths_s(pairs, window, threshold).any():
        most = attainable_of_pairs(pairs, window)[0].max()
        note(
            f"the threshold {threshold:g} is out of reach: the probability is at most {most:.3g}, whatever is reported"
        )
