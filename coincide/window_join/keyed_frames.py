"""Frames of which only rows with equal keys may meet: the key joins the area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from coincide.arrays import CodeArray, LabelArray
from coincide.detections import Detections
from coincide.errors import DetectionsError
from coincide.timing_join.labels import SPARSE_FROM, area_codes, label_codes

Keys = Mapping[str, npt.ArrayLike]


def keyed_frames(frames: Mapping[str, Detections], key: Keys | None) -> dict[str, Detections]:
    """Return the frames with (area, key) in place of the area; one that has two names stays one.

    Raises
    ------
    DetectionsError
        A stream without keys, or not one key a row.
    """
    if key is None:
        return dict(frames)
    for name in frames:
        if name not in key:
            raise DetectionsError("key", sorted(key), f"keys for every stream: {name!r} has none")
    labels = [key_labels(name, key[name], len(frame)) for name, frame in frames.items()]
    groups = _groups(area_codes(list(frames.values())), label_codes("key", labels, SPARSE_FROM))
    keyed: dict[int, Detections] = {}
    for frame, group in zip(frames.values(), groups, strict=True):
        keyed.setdefault(id(frame), frame.in_areas(group))
    return {name: keyed[id(frame)] for name, frame in frames.items()}


def key_labels(stream: str, keys: npt.ArrayLike, rows: int) -> LabelArray:
    """Return a stream's keys as an array of int64 or text, one a row; else raise DetectionsError."""
    labels = np.asarray(keys)
    if labels.shape != (rows,):
        raise DetectionsError(f"key[{stream!r}]", f"an array of shape {labels.shape}", f"one key a row: {rows}")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(np.str_)
    if labels.dtype.kind not in "iuU" and rows:
        raise DetectionsError(f"key[{stream!r}]", f"an array of {labels.dtype}", "integers or strings")
    return labels if labels.dtype.kind == "U" else labels.astype(np.int64)


def _groups(areas: Sequence[CodeArray], keys: Sequence[CodeArray]) -> list[CodeArray]:
    """Return codes of the pairs (area, key) of each frame, as few as there are pairs."""
    kinds = max((int(codes.max()) for codes in keys if len(codes)), default=0) + 1
    pairs = [area.astype(np.int64) * kinds + codes for area, codes in zip(areas, keys, strict=True)]
    return label_codes("key", pairs, SPARSE_FROM)
