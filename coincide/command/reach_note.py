"""A threshold that is out of reach: said before an empty answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from itertools import chain
from typing import TypeVar

import numpy as np

from coincide.command.faults import note
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
