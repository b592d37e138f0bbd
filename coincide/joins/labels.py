"""Labels to codes: areas, sensors and join keys of batches as the small integers that the kernel compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import CodeArray, LabelArray
from coincide.constraints.conditions import UNKNOWN_SENSOR, SensorRule, unknown_sensor
from coincide.errors import DetectionsError, SensorRuleError
from coincide.joins.detections import Detections, checked_labels
from coincide.joins.keys import brief, one_area

SPARSE_FROM = 1 << 20  # integer areas up to here are their own codes; greater ones would make keys wide


def area_codes(batches: Sequence[Detections]) -> list[CodeArray]:
    """Return codes of the areas of each batch, comparable between batches, int32 (n,).

    All batches with rows have areas, all numbers or all strings, or none has.
    """
    with_rows = [batch for batch in batches if len(batch)]
    given = [batch.area for batch in with_rows if batch.area is not None]
    if not given:
        return [one_area(len(batch)) for batch in batches]
    if len(given) < len(with_rows):
        raise DetectionsError("area", None, "given in all batches or in none")
    codes = iter(comparable_codes("area", given, SPARSE_FROM))
    return [next(codes) if len(batch) else one_area(0) for batch in batches]


def sensor_codes(batches: Sequence[Detections]) -> list[CodeArray]:
    """Return codes of the sensors of each batch in label order, int32 (n,); UNKNOWN_SENSOR where not given."""
    given = [batch.sensor for batch in batches if batch.sensor is not None]
    codes = iter(comparable_codes("sensor", given, 1 << 31))
    return [unknown_sensor(len(batch)) if batch.sensor is None else next(codes) for batch in batches]


def effective_rule(rule: SensorRule, one: CodeArray, other: CodeArray) -> SensorRule:
    """Return "any" where the rule is "different" and no sensor is on both sides, else the rule itself."""
    if len(one) == 0 or len(other) == 0:
        return rule
    if rule == "same" and UNKNOWN_SENSOR in (one[0], other[0]):
        raise SensorRuleError("sensors", rule, "'different' or 'any' for detections without a sensor")
    one, other = brief(one), brief(other)
    apart = one.max() < other.min() or other.max() < one.min()
    unknown = UNKNOWN_SENSOR in (one[0], other[0])
    return "any" if rule == "different" and (apart or unknown) else rule


def comparable_codes(field: str, columns: Sequence[LabelArray], sparse_from: int) -> list[CodeArray]:
    """Return codes of the labels of each column, comparable between columns; small numbers are their own codes."""
    if not columns:
        return []
    kinds = {"text" if column.dtype.kind == "U" else "number" for column in columns if len(column)}
    if len(kinds) > 1:
        raise DetectionsError(field, "numbers in one batch and strings in another", "the same kind in both")
    if kinds != {"text"} and all(_are_codes(column, sparse_from) for column in columns):
        return [column.astype(np.int32, copy=False) for column in columns]
    _, codes = np.unique(np.concatenate([column for column in columns if len(column)]), return_inverse=True)
    ends = np.cumsum([len(column) for column in columns])
    return [part.astype(np.int32) for part in np.split(codes, ends[:-1])]


def _are_codes(column: LabelArray, sparse_from: int) -> bool:
    return len(column) == 0 or bool(column.min() >= 0 and column.max() < sparse_from)


Keys = Mapping[str, npt.ArrayLike]


def keyed_batches(batches: Mapping[str, Detections], key: Keys | None) -> dict[str, Detections]:
    """Return the batches with (area, key) in place of the area; a batch under two names stays one object."""
    if key is None:
        return dict(batches)
    for name in batches:
        if name not in key:
            raise DetectionsError("key", sorted(key), f"keys for every stream: {name!r} has none")
    labels = [checked_labels(f"key[{name!r}]", key[name], len(batch)) for name, batch in batches.items()]
    groups = _groups(area_codes(list(batches.values())), comparable_codes("key", labels, SPARSE_FROM))
    keyed: dict[int, Detections] = {}
    for batch, group in zip(batches.values(), groups, strict=True):
        keyed.setdefault(id(batch), batch.in_areas(group))
    return {name: keyed[id(batch)] for name, batch in batches.items()}


def _groups(areas: Sequence[CodeArray], keys: Sequence[CodeArray]) -> list[CodeArray]:
    """Return codes of the pairs (area, key) of each batch, as few as there are pairs."""
    kinds = max((int(codes.max()) for codes in keys if len(codes)), default=0) + 1
    pairs = [area.astype(np.int64) * kinds + codes for area, codes in zip(areas, keys, strict=True)]
    return comparable_codes("key", pairs, SPARSE_FROM)
