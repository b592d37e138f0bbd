"""Found: the pairs of one probe by role, with what their probability needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, CodeArray, FloatArray, Int64Array
from coincide.difference import match_probabilities
from coincide.histogram import Histogram
from coincide.pairs import Pairs
from coincide.timing_join.matching import Block, Probe
from coincide.window import Window

GoesFirst = Callable[[Int64Array, Int64Array], BoolArray]


@dataclass(frozen=True, eq=False)
class Found:
    """Pairs in columns, all of shape (n,).

    Attributes
    ----------
    a, b : ndarray of int64
        Refs of the events by role.
    a_template, b_template : ndarray of int32
    offset_us : ndarray of int64
        tb - ta as reported.
    """

    a: Int64Array
    b: Int64Array
    a_template: CodeArray
    b_template: CodeArray
    offset_us: Int64Array

    @classmethod
    def by(cls, probe: Probe, blocks: Iterable[Block], *, probes_with_b: bool) -> Found:
        """Gather what `blocks` name; the probing events play b if `probes_with_b`, else a."""
        parts = list(blocks)
        if not parts:
            return cls.none()
        rows, at = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        events, stored = probe.events, probe.stored
        offset_us = stored.codec.offset_us(stored.keys[at], probe.keys[rows])
        new = (events.ref[rows], events.template[rows])
        old = (stored.ref[at], stored.template[at])
        if probes_with_b:
            return cls(old[0], new[0], old[1], new[1], -offset_us)
        return cls(new[0], old[0], new[1], old[1], offset_us)

    @classmethod
    def none(cls) -> Found:
        """Return no pairs."""
        refs, codes = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(refs, refs, codes, codes, refs)

    @classmethod
    def all_of(cls, parts: list[Found]) -> Found:
        """Return the pairs of all parts."""
        parts = [part for part in parts if len(part)]
        if len(parts) <= 1:
            return parts[0] if parts else cls.none()
        names = ("a", "b", "a_template", "b_template", "offset_us")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.a)

    def with_ties_ordered(self, goes_first: GoesFirst) -> Found:
        """Swap roles in pairs reported at the same time whose b goes before their a."""
        ties = np.flatnonzero(self.offset_us == 0)
        if len(ties) == 0:
            return self
        swap = np.zeros(len(self), np.bool_)
        swap[ties] = goes_first(self.b[ties], self.a[ties])
        return Found(
            np.where(swap, self.b, self.a),
            np.where(swap, self.a, self.b),
            np.where(swap, self.b_template, self.a_template),
            np.where(swap, self.a_template, self.b_template),
            self.offset_us,
        )

    def pairs(self, us: Sequence[Histogram], vs: Sequence[Histogram], window: Window) -> Pairs:
        """Return the pairs of refs; `us` and `vs` are the templates by code, of which no more are kept than pairs."""
        a_templates, u_index = _named(us, self.a_template)
        b_templates, v_index = _named(vs, self.b_template)

        def probabilities() -> FloatArray:
            return match_probabilities(a_templates, b_templates, u_index, v_index, self.offset_us, window)

        return Pairs(self.a, self.b, probabilities)


def _named(templates: Sequence[Histogram], code: CodeArray) -> tuple[Sequence[Histogram], npt.NDArray[Any]]:
    """Return templates, and for each code which of them it names: those named alone if they are fewer than all."""
    if len(templates) <= len(code):
        return tuple(templates), code
    used, index = np.unique(code, return_inverse=True)
    return [templates[each] for each in used], index
