"""Sections: the readings of an extent in columns, cut by time into sections of bounded length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.columns import BEYOND_US
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Label
from coincide.coalescing.streams.expiry_queue import ExpiryQueue
from coincide.coalescing.streams.extent import ReadingBatch
from coincide.coalescing.streams.segments import MergedBatch, Segments, joined, merged_batch

NOTHING_YET = -BEYOND_US  # before any time
FULL = 16_384  # a section of so many readings takes no more at its end; one of more than twice as many is divided


class Section:
    """The readings of all groups from one instant until the next section.

    A batch is merged into the ends of its groups' segments, from its earliest reading on, and readings are dropped
    from the fronts. What lies between is not touched. `expiry` is None where each group has an extent of its own.
    """

    segments: Segments

    def __init__(self, from_us: int, link: Link, *, is_shared: bool) -> None:
        self.from_us = from_us
        self.segments = Segments()
        self.expiry = ExpiryQueue() if is_shared else None
        self.link = link
        self._code_of: dict[Label, int] = {}

    def __len__(self) -> int:
        return len(self.expiry) if self.expiry is not None else int(self.segments.sizes.sum())

    @property
    def latest_us(self) -> int:
        """The latest time of a reading; before any time if there is none."""
        latest = self.segments.ts[self.segments.tail[self.segments.sizes > 0] - 1]
        return int(latest.max(initial=NOTHING_YET))

    def with_codes(self, batch: ReadingBatch) -> ReadingBatch:
        """Return the rows with the positions of their groups among the labels; make room for them."""
        segments, groups = self.segments, batch.group.tolist()
        try:
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        except KeyError:
            self._add_groups(batch)
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        more = np.bincount(code, minlength=len(segments.labels))
        if (segments.tail + more > segments.limit).any():
            segments.make_room(segments.labels, more)
        return batch._replace(group=code)

    def codes_of(self, labels: LabelArray) -> tuple[PositionArray, PositionArray]:
        """Return which of some groups have readings here, and their codes; the labels are distinct and ascending."""
        filled = np.flatnonzero(self.segments.sizes)
        known = self.segments.labels[filled]
        number = np.flatnonzero(np.isin(labels, known))
        return number, filled[np.searchsorted(known, labels[number])]

    def write(self, merged: MergedBatch, leaving: Int64Array) -> None:
        """Set the readings, and drop so many of each group's oldest."""
        self.segments.write(merged.at, merged.readings, merged.tail)
        self.segments.head = self.segments.head + leaving

    def readings(self) -> ReadingBatch:
        """Return the readings, by (group, ts, id)."""
        segments = self.segments
        row, at = expanded_ranges(segments.head, segments.tail)
        group, value = segments.labels[row], segments.value[at]
        return ReadingBatch(segments.ts[at], group, value, segments.ref[at], segments.kept[at])

    def readings_of(self, group: Label) -> ReadingBatch:
        """Return the readings of one group, by (ts, id)."""
        segments, code = self.segments, self._code_of.get(group)
        at = np.arange(0) if code is None else np.arange(segments.head[code], segments.tail[code])
        label = segments.labels[[] if code is None else [code]].repeat(len(at))
        return ReadingBatch(segments.ts[at], label, segments.value[at], segments.ref[at], segments.kept[at])

    def empty_from(self, from_us: int) -> Section:
        """Return a section without readings."""
        return type(self)(from_us, self.link, is_shared=self.expiry is not None)

    def _add_groups(self, batch: ReadingBatch) -> None:
        """Take the batch's groups among the labels, and forget those that have no readings left."""
        filled = self.segments.labels[self.segments.sizes > 0]
        labels = np.unique(joined(filled, batch.group))
        codes = self.segments.make_room(labels, np.zeros(len(labels), np.int64))
        if self.expiry is not None:
            self.expiry.recode(codes)
        self._code_of = {label: code for code, label in enumerate(labels.tolist())}


AnySection = TypeVar("AnySection", bound=Section)


@dataclass
class SectionPart(Generic[AnySection]):
    """What a push does to one section: these rows come, and so many of each group's oldest readings leave."""

    section: AnySection
    rows: PositionArray  # of the batch
    batch: ReadingBatch  # those rows; groups are codes
    merged: MergedBatch
    leaving: Int64Array

    @classmethod
    def of(cls, section: AnySection, coded: ReadingBatch, rows: PositionArray) -> SectionPart[AnySection]:
        """Return what these rows do to a section, whose queue takes them; their groups are its codes."""
        merged = merged_batch(section.segments, coded)
        if section.expiry is not None:
            section.expiry.add(merged)
        return cls(section, rows, coded, merged, np.zeros(len(merged.since), np.int64))

    @classmethod
    def without_rows(cls, section: AnySection) -> SectionPart[AnySection]:
        """Return what no rows do to a section."""
        columns, none = section.segments, np.empty(0, np.int64)
        return cls.of(section, ReadingBatch(none, none, columns.value[:0], columns.ref[:0], columns.kept[:0]), none)

    @property
    def head(self) -> Int64Array:
        """Where each group's readings begin once those that leave have gone, int64 (G,)."""
        return self.section.segments.head + self.leaving

    @property
    def touched(self) -> BoolArray:
        """Which groups have readings that come or leave, bool (G,)."""
        return (self.merged.tail > self.merged.since) | (self.leaving > 0)

    def has_new_that_leave(self) -> bool:
        """Whether some of the rows are there already or leave at once."""
        merged = self.merged
        return not merged.of_row.all() or bool(((merged.at < self.head[merged.readings.group]) & merged.is_new).any())


class Sections(Generic[AnySection]):
    """The sections of an extent in order of time. There is always one, and if there are several none is empty."""

    def __init__(self, first: AnySection) -> None:
        self._listed = [first]

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[AnySection]:
        return iter(self._listed)

    @property
    def count(self) -> int:
        """How many readings there are."""
        return sum(map(len, self._listed))

    @property
    def first(self) -> AnySection:
        """The earliest section."""
        return self._listed[0]

    @property
    def last(self) -> AnySection:
        """The latest section."""
        return self._listed[-1]

    def parts(self, batch: ReadingBatch) -> list[SectionPart[AnySection]]:
        """Return what the rows of a batch do to the sections, by section."""
        last = self._listed[-1]
        if last.expiry is not None and len(last) + len(batch.ts_us) > FULL:
            self._lengthen(batch.ts_us)
        if len(self._listed) == 1:
            return [SectionPart.of(last, last.with_codes(batch), np.arange(len(batch.ts_us)))]
        number = np.searchsorted([section.from_us for section in self._listed[1:]], batch.ts_us, side="right")
        parts = []
        for each in np.unique(number).tolist():
            section, rows = self._listed[each], np.flatnonzero(number == each)
            parts.append(SectionPart.of(section, section.with_codes(batch.take(rows)), rows))
        return parts

    def some_after(self, us: int) -> ReadingBatch:
        """Return readings after an instant, those of the first section that has any."""
        number = np.searchsorted([section.from_us for section in self._listed[1:]], us, side="right")
        for section in self._listed[number:]:
            readings = section.readings()
            if len(later := np.flatnonzero(readings.ts_us > us)):
                break
        return readings.take(later)

    def tidy(self, parts: list[SectionPart[AnySection]]) -> None:
        """Forget sections that a push has emptied, and divide those that it has made too long."""
        for part in parts:
            section = part.section
            if section.expiry is None:
                continue
            if len(section) == 0 and len(self._listed) > 1:
                self._listed.remove(section)
            elif len(section) > 2 * FULL:
                at = self._listed.index(section)
                self._listed[at : at + 1] = _divided(section)

    def _lengthen(self, ts_us: Int64Array) -> None:
        """Let what comes after all readings begin new sections."""
        last = self._listed[-1]
        later = np.sort(ts_us[ts_us > last.latest_us])
        cuts = np.unique(later[::FULL] if len(last) else later[FULL::FULL])
        cuts = cuts[cuts > (later[0] if len(later) and not len(last) else NOTHING_YET)]
        self._listed += [last.empty_from(from_us) for from_us in cuts.tolist()]  # type: ignore[misc]  # its own kind


def _divided(section: AnySection) -> list[AnySection]:
    """Return the readings of a section in sections that are not too long; those of one instant stay together."""
    readings = section.readings()
    in_order = np.sort(readings.ts_us)
    cuts = np.unique(in_order[FULL::FULL])
    cuts = cuts[cuts > in_order[0]]
    number, made = np.searchsorted(cuts, readings.ts_us, side="right"), []
    for each, from_us in enumerate([section.from_us, *cuts.tolist()]):
        piece: AnySection = section.empty_from(from_us)  # type: ignore[assignment]  # its own kind
        part = SectionPart.of(
            piece, piece.with_codes(readings.take(np.flatnonzero(number == each))), np.empty(0, np.intp)
        )
        piece.write(part.merged, part.leaving)
        made.append(piece)
    return made
