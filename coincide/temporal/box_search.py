"""Box search in columns: which points lie in each of many boxes, without a look at most of the others.

Points are sorted by a coordinate, and each box looks up its range there. A range of a few points is compared one by
one. A longer one is cut into the nodes of a tree over the sorted points, of which it has at most two a level, and each
node is searched by the next coordinate. With n points and boxes, d coordinates and k answers the work is at most
n log(n)^d plus k.

Source: Bentley: Multidimensional Divide-and-Conquer (1980).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, LabelArray, PositionArray
from coincide.arrays.range_expansion import expanded_range_blocks

PositionPairs = tuple[PositionArray, PositionArray]

LEVEL = 4
FEW = 1 << LEVEL  # points in a range that are compared one by one, and in the smallest node of the tree


@dataclass(frozen=True)
class Points:
    """Points in columns; a coordinate is a position in the order of that coordinate, so all n of it differ."""

    row: PositionArray
    part: PositionArray  # 0 to n - 1: what a box must equal
    coordinates: tuple[PositionArray, ...]
    group: LabelArray | None  # what a box must not equal

    def take(self, at: PositionArray) -> Points:
        """Return some of the points."""
        group = None if self.group is None else self.group[at]
        return Points(self.row[at], self.part[at], tuple(each[at] for each in self.coordinates), group)


@dataclass(frozen=True)
class Boxes:
    """Boxes in columns: a range low : high of each coordinate, the last excluded."""

    row: PositionArray
    part: PositionArray
    ranges: tuple[PositionPairs, ...]
    group: LabelArray | None

    def take(self, at: PositionArray) -> Boxes:
        """Return some of the boxes."""
        group = None if self.group is None else self.group[at]
        return Boxes(self.row[at], self.part[at], tuple((low[at], high[at]) for low, high in self.ranges), group)


def points_in_boxes(points: Points, boxes: Boxes) -> Iterator[PositionPairs]:
    """Write out, in blocks, the rows of a box and of a point in it, each pair once.

    Each box begins with the coordinate in which it is narrowest.
    """
    narrowest = np.argmin([high - low for low, high in boxes.ranges], axis=0)
    for first in range(len(boxes.ranges)):
        chosen = boxes.take(np.flatnonzero(narrowest == first))
        order = [first, *(each for each in range(len(boxes.ranges)) if each != first)]
        yield from _search(
            Points(points.row, points.part, tuple(points.coordinates[each] for each in order), points.group),
            Boxes(chosen.row, chosen.part, tuple(chosen.ranges[each] for each in order), chosen.group),
        )


def _search(points: Points, boxes: Boxes) -> Iterator[PositionPairs]:
    if not len(boxes.row):
        return
    n = 1 + max(int(points.coordinates[0].max(initial=0)), int(boxes.ranges[0][1].max()))
    key = points.part * n + points.coordinates[0]
    order = np.argsort(key)
    points, key = points.take(order), key[order]
    first, stop = (np.searchsorted(key, boxes.part * n + bound) for bound in boxes.ranges[0])
    yield from _compared(points, boxes, first, np.where(stop - first <= FEW, stop, first))
    many = np.flatnonzero(stop - first > FEW)
    boxes, first, stop = boxes.take(many), first[many], stop[many]
    yield from (_of_other_groups if len(boxes.ranges) == 1 else _in_nodes)(points, boxes, first, stop)


def _compared(points: Points, boxes: Boxes, first: PositionArray, stop: PositionArray) -> Iterator[PositionPairs]:
    """Compare the points first : stop of each box one by one, in all but the first coordinate."""
    for box, at in expanded_range_blocks(first, stop):
        kept: BoolArray = np.ones(len(box), bool)
        for coordinate, (low, high) in zip(points.coordinates[1:], boxes.ranges[1:], strict=True):
            kept &= (low[box] <= coordinate[at]) & (coordinate[at] < high[box])
        if boxes.group is not None and points.group is not None:
            kept &= boxes.group[box] != points.group[at]
        yield boxes.row[box[kept]], points.row[at[kept]]


def _of_other_groups(
    points: Points, boxes: Boxes, first: PositionArray, stop: PositionArray
) -> Iterator[PositionPairs]:
    """Write out the points first : stop of each box that are not of its group.

    Points that follow one another in one group are left out together: of two such runs in turn, one is in the answer.
    """
    if boxes.group is None or points.group is None:
        for box, at in expanded_range_blocks(first, stop):
            yield boxes.row[box], points.row[at]
        return
    begins = np.flatnonzero(points.group[1:] != points.group[:-1]) + 1
    ends, begins = np.append(begins, len(points.row)), np.insert(begins, 0, 0)
    from_run, to_run = (np.searchsorted(begins, at, side="right") for at in (first, stop - 1))
    for every_box, every_run in expanded_range_blocks(from_run - 1, to_run):
        other = np.flatnonzero(points.group[begins[every_run]] != boxes.group[every_box])
        box, run = every_box[other], every_run[other]
        for nth, at in expanded_range_blocks(np.maximum(first[box], begins[run]), np.minimum(stop[box], ends[run])):
            yield boxes.row[box[nth]], points.row[at]


def _in_nodes(points: Points, boxes: Boxes, first: PositionArray, stop: PositionArray) -> Iterator[PositionPairs]:
    """Search the points first : stop of each box by the next coordinate, in nodes of 2, 4, 8 ... times FEW points."""
    low, high = -(-first // FEW), stop // FEW
    yield from _compared(points, boxes, first, low * FEW)
    yield from _compared(points, boxes, high * FEW, stop)
    level = LEVEL
    while (open_boxes := np.flatnonzero(low < high)).size:
        boxes, low, high = boxes.take(open_boxes), low[open_boxes], high[open_boxes]
        at_low, at_high = np.flatnonzero(low & 1), np.flatnonzero(high & 1)
        nodes = np.concatenate((low[at_low], high[at_high] - 1))
        yield from _in_level(points, boxes.take(np.concatenate((at_low, at_high))), nodes, level)
        low, high, level = (low + 1) >> 1, high >> 1, level + 1


def _in_level(points: Points, boxes: Boxes, nodes: PositionArray, level: int) -> Iterator[PositionPairs]:
    """Search each box in its node of a level, by the coordinates after the first."""
    node = np.arange(len(points.row)) >> level
    searched = np.zeros(len(points.row) + 1, bool)
    searched[nodes] = True
    at = np.flatnonzero(searched[node])
    inside = points.take(at)
    yield from _search(
        Points(inside.row, node[at], inside.coordinates[1:], inside.group),
        Boxes(boxes.row, nodes, boxes.ranges[1:], boxes.group),
    )
