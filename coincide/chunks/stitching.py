"""Runs across chunks: what each chunk makes of its rows goes on where the next one begins.

A chunk coalesces its own rows. What it makes of them are parts: runs that the rows of another chunk may lengthen. To
unite parts in order gives the same as to unite all rows at once, so one more step over the parts of a group stitches
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array, LabelArray, PositionArray
from coincide.coalescing.batch import coalesce, coalesce_readings
from coincide.coalescing.columns import BEYOND_US, class_codes, group_codes
from coincide.coalescing.equivalences import Equal, Equivalence
from coincide.coalescing.links import LinkRule
from coincide.coalescing.runs import Runs
from coincide.coalescing.spans import Spans


@dataclass(frozen=True, eq=False)
class ChunkRuns:
    """Runs of one chunk, or of many one behind the other in any order; columns of shape (n,).

    `runs` have ids as `first` and `last`, and the value of their first row. Of their last row there are the value, the
    start and the end too.
    """

    runs: Runs
    last_value: npt.NDArray[Any] | None
    last_start_us: Int64Array
    last_end_us: Int64Array


@dataclass(frozen=True)
class ChunkCoalescing:
    """How facts are coalesced, or readings: see `coincide.coalesce` and `coincide.coalesce_readings`."""

    equivalence: Equivalence
    gap_us: int = 0
    hold_us: int | None = None
    of_readings: bool = False

    def parts(
        self,
        start_us: Int64Array,
        end_us: Int64Array | None,
        group: LabelArray,
        chunk: Int64Array,
        ids: LabelArray,
        value: npt.NDArray[Any] | None,
    ) -> ChunkRuns:
        """Coalesce the rows of some chunks, each for itself; rows that start together are taken by id."""
        order = np.lexsort((ids, start_us))
        start_us, chunk, ids, group = start_us[order], chunk[order], ids[order], group[order]
        value = None if value is None else value[order]
        both = group_codes(chunk) * (int(group_codes(group).max(initial=0)) + 1) + group_codes(group)
        if self.of_readings or end_us is None:
            runs, ends = coalesce_readings(start_us, both, value, self.equivalence, self.hold_us), start_us
        else:
            ends = end_us[order]
            runs = coalesce(start_us, ends, both, value, self.equivalence, self.gap_us)
        first, last = runs.first, runs.last
        named = replace(runs, group=group[first], first=ids[first], last=ids[last])
        return ChunkRuns(named, None if value is None else value[last], start_us[last], ends[last])

    def stitched(self, parts: ChunkRuns) -> Runs:
        """Unite the parts of whole groups: runs by group, then start."""
        order = np.lexsort((parts.runs.first, parts.runs.start_us))
        runs = parts.runs.take(order)
        last_start_us, last_end_us = parts.last_start_us[order], parts.last_end_us[order]
        group = group_codes(runs.group)
        spans = self._spans(runs, group, None if parts.last_value is None else parts.last_value[order], last_start_us)
        first, last = spans.first, spans.last - len(runs)
        latest_us = np.full(int(group.max(initial=-1)) + 1, -BEYOND_US)
        np.maximum.at(latest_us, group, last_start_us)
        is_open = last_start_us[last] == latest_us[group[last]]
        if self.of_readings:
            end_us = _ends_of_readings(spans, last_start_us[last])
        else:
            end_us, is_open = spans.end_us, is_open & (last_end_us[last] == last_start_us[last])
        value = None if runs.value is None else runs.value[first]
        columns = spans.start_us, end_us, runs.group[first], value, spans.rows_of_each
        united = Runs(*columns, runs.first[first], runs.last[last], is_open)
        return united.take(np.lexsort((first, united.start_us, group[first])))

    def _spans(
        self, runs: Runs, group: Int64Array, last_value: npt.NDArray[Any] | None, last_start_us: Int64Array
    ) -> Spans:
        """Unite parts that stand in order of time; the last row of each has its number plus that of all parts."""
        code, rule = group, LinkRule(gap_us=self.gap_us)
        if runs.value is not None and isinstance(self.equivalence, Equal) and not self.of_readings:
            code = class_codes(group, runs.value)
        elif runs.value is not None and last_value is not None:
            rule = LinkRule(np.concatenate([runs.value, last_value]), self.equivalence, self.gap_us)
        end_us = runs.end_us
        if self.of_readings:
            end_us = last_start_us + (BEYOND_US if self.hold_us is None else self.hold_us)
        at: PositionArray = np.argsort(code, kind="stable")
        spans = Spans(code[at], runs.start_us[at], end_us[at], at, at + len(runs), runs.count[at])
        return spans.united(rule)


def _ends_of_readings(spans: Spans, last_start_us: Int64Array) -> Int64Array:
    """Return the ends of runs: where the next one of the group starts, or else where the last reading does."""
    end_us = spans.end_us.copy()
    newest = np.append(~spans.same_code, True)[-len(end_us) :] if len(end_us) else np.empty(0, np.bool_)
    end_us[:-1] = np.minimum(end_us[:-1], spans.start_us[1:])
    end_us[newest] = last_start_us[newest]
    return end_us
