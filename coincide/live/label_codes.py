"""Labels of a stream that never ends: their codes as small integers, the labels of each row, and their kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, Int64Array, LabelArray
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections

SPARE_LABELS = 1024  # labels are forgotten once there are so many more than twice those kept last


CodesState = tuple[tuple[dict[int | str, int], list[int]], int]
LogState = tuple[int, LabelArray]


class LabelCodes:
    """Codes by label, in the order in which labels are first seen; a new label may get the code of a forgotten one.

    Examples
    --------
    >>> codes = LabelCodes()
    >>> codes.of(np.array(["bay", "sea", "bay"])).tolist(), codes.of(np.array(["sea"])).tolist()
    ([0, 1, 0], [1])
    >>> codes.keep_only(np.array([1], np.int32)), codes.of(np.array(["sea", "lake"])).tolist()
    ([0], [1, 0])
    """

    def __init__(self) -> None:
        self._codes: Codes[int | str] = Codes()
        self._kept = 0

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def state(self) -> CodesState:
        """All there is to save."""
        return self._codes.state, self._kept

    @classmethod
    def restore(cls, state: CodesState) -> LabelCodes:
        """Return codes that go on from a state."""
        codes = cls()
        codes._codes, codes._kept = Codes.restore(state[0]), state[1]
        return codes

    def of(self, labels: LabelArray) -> CodeArray:
        """Return the code of each label, int32 (n,); labels not seen before get new ones."""
        if len(labels) == 0:
            return np.empty(0, np.int32)
        if labels.dtype.kind == "U":
            return np.array([self._codes.code(label) for label in labels.tolist()], np.int32)
        values, inverse = np.unique(labels, return_inverse=True)
        return np.array([self._codes.code(value) for value in values.tolist()], np.int32)[inverse]

    def known(self, label: int | str) -> int | None:
        """Return the code of a label; None if it has not been seen."""
        return self._codes.get(label)

    @property
    def are_many(self) -> bool:
        """Whether there are twice as many labels as were kept last, and some to spare."""
        return len(self) > 2 * self._kept + SPARE_LABELS

    def keep_only(self, used: CodeArray) -> list[int]:
        """Forget the labels of all other codes; return those codes. Codes that have no label do not matter."""
        forgotten = self._codes.keep_only(used)
        self._kept = len(self)
        return list(forgotten.values())


class LabelLog:
    """Labels of consecutive rows, looked up by row number; the oldest can be forgotten."""

    def __init__(self) -> None:
        self._labels: LabelArray = np.empty(0, np.int64)
        self._first = self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def state(self) -> LogState:
        """All there is to save: the number of the first row, and the labels from it on."""
        return self._first, self._labels[: self._size].copy()

    @classmethod
    def restore(cls, state: LogState) -> LabelLog:
        """Return a log that goes on from a state."""
        log = cls()
        log._first, log._labels = state[0], state[1].copy()
        log._size = len(log._labels)
        return log

    @property
    def kind(self) -> str:
        """Return what numpy calls the kind of the labels: "i" or "U"."""
        return self._labels.dtype.kind

    @property
    def first(self) -> int:
        """Number of the first row that is not forgotten."""
        return self._first

    def append(self, labels: LabelArray) -> None:
        """Add the labels of the next rows."""
        if len(labels) == 0:
            return
        end = self._size + len(labels)
        if self._size == 0:
            self._labels = labels[:0]
        dtype = np.promote_types(self._labels.dtype, labels.dtype)
        if end > len(self._labels) or dtype != self._labels.dtype:
            grown = np.empty(max(end, 2 * self._size), dtype)
            grown[: self._size] = self._labels[: self._size]
            self._labels = grown
        self._labels[self._size : end] = labels
        self._size = end

    def of(self, rows: Int64Array) -> LabelArray:
        """Return the labels of rows that are not forgotten."""
        labels: LabelArray = self._labels[rows - self._first]
        return labels

    def forget_before(self, row: int) -> None:
        """Forget the labels of earlier rows."""
        stays = max(0, row - self._first)
        self._labels = self._labels[stays : self._size].copy()
        self._first += stays
        self._size = len(self._labels)


MISSING = "missing"


class LabelKinds:
    """The kind of each column of labels: the first batch with rows sets it, all later ones must agree."""

    def __init__(self, state: Mapping[str, str] = MappingProxyType({})) -> None:
        self._kinds = dict(state)

    @property
    def state(self) -> dict[str, str]:
        """All there is to save; `LabelKinds(state)` goes on from it."""
        return dict(self._kinds)

    def check(self, detections: Detections) -> None:
        """Raise DetectionsError if a column of labels is not as in the batches that were kept."""
        for field, kind in _kinds_of(detections):
            before = self._kinds.get(field, kind)
            if kind != before and MISSING in (kind, before):
                given = "missing" if kind == MISSING else "given"
                raise DetectionsError(field, given, "given in all batches or in none")
            if kind != before:
                raise DetectionsError(field, kind, f"the same kind as in earlier batches: {before}")

    def keep(self, detections: Detections) -> None:
        """Let all later batches be like this one, which has been checked."""
        self._kinds.update(_kinds_of(detections))


def _kinds_of(detections: Detections) -> Iterator[tuple[str, str]]:
    """Yield the kind of each column; a batch without rows says nothing."""
    if len(detections) == 0:
        return
    for field, column in (("area", detections.area), ("sensor", detections.sensor), ("id", detections.id)):
        if column is None:
            yield field, MISSING
        else:
            yield field, "text" if column.dtype.kind == "U" else "number"
