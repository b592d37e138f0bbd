"""LabelKinds: whether the frames of a join name areas, sensors and ids, and by numbers or by text."""

from __future__ import annotations

from collections.abc import Iterator

from coincide.detections import Detections
from coincide.errors import DetectionsError

MISSING = "missing"


class LabelKinds:
    """The kind of each column of labels: the first frame with rows sets it, all others have to agree.

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> clock, kinds = [Histogram.point()], LabelKinds()
    >>> kinds.keep(Detections([0], clock, id=["s1"]))
    >>> kinds.check(Detections([0], clock, id=[7]))
    Traceback (most recent call last):
        ...
    coincide.detections.DetectionsError: id is 'number': the same kind as in earlier frames: text
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def check(self, frame: Detections) -> None:
        """Raise DetectionsError if a column of labels is not as in the frames that were kept."""
        for field, kind in _kinds_of(frame):
            before = self._kinds.get(field, kind)
            if kind != before and MISSING in (kind, before):
                given = "missing" if kind == MISSING else "given"
                raise DetectionsError(field, given, "given in all frames or in none")
            if kind != before:
                raise DetectionsError(field, kind, f"the same kind as in earlier frames: {before}")

    def keep(self, frame: Detections) -> None:
        """Let all later frames be like this one, which has been checked."""
        self._kinds.update(_kinds_of(frame))


def _kinds_of(frame: Detections) -> Iterator[tuple[str, str]]:
    """Yield the kind of each column; a frame without rows says nothing."""
    if len(frame) == 0:
        return
    for field, column in (("area", frame.area), ("sensor", frame.sensor), ("id", frame.id)):
        if column is None:
            yield field, MISSING
        else:
            yield field, "text" if column.dtype.kind == "U" else "number"
