"""Repeats: detections that a file tells again, which count once, as they do where a gateway posts them again.

A detection is known by its area, stream, sensor and id. Without an id it is known by all that its line says but when it
was received. A line that names neither a sensor nor an id is an event of its own.

Echoes are something else: a sensor reports one event again, at another time. They count once where the user says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.arrays.spoken import spoken
from coincide.command.faults import note
from coincide.command.input.chunks import Chunk
from coincide.joins.echoes import are_echoes

RECEIVED_COLUMNS = ("received_at", "received_at_us")
UNKNOWN = 0  # the identity of a row that names neither a sensor nor an id


def identities(chunk: Chunk, labels: Mapping[str, pa.Array]) -> Int64Array:
    """Return a hash of what each row is known by, int64 (n,); `UNKNOWN` where that is nothing."""
    sensor, name = (_texts(labels.get(label), len(chunk.row)) for label in ("sensor", "id"))
    has_sensor, has_name = sensor != "", name != ""
    found = np.full(len(chunk.row), UNKNOWN, np.int64)
    both = np.flatnonzero(has_sensor & has_name)
    found[both] = _hashes(zip(sensor[both].tolist(), name[both].tolist(), strict=True))
    only_one = np.flatnonzero(has_sensor ^ has_name)
    if len(only_one):
        content = chunk.content(RECEIVED_COLUMNS)
        found[only_one] = _hashes(content[row] for row in only_one.tolist())
    return found


def of_places(identity: Int64Array, area: npt.NDArray[np.object_], stream: npt.NDArray[np.object_]) -> Int64Array:
    """Return the identities of rows of these areas and streams, int64 (n,): sensors of two areas may have one name."""
    named = _hashes(zip(area.tolist(), stream.tolist(), identity.tolist(), strict=True))
    return np.where(identity == UNKNOWN, UNKNOWN, named)


def _texts(column: pa.Array | None, rows: int) -> npt.NDArray[np.object_]:
    column = pa.nulls(rows) if column is None else column
    texts: npt.NDArray[np.object_] = column.cast(pa.large_string()).fill_null("").to_numpy(zero_copy_only=False)
    return texts


def _hashes(values: Iterable[Hashable]) -> Int64Array:
    return np.fromiter(map(hash, values), np.int64)


class Repeats:
    """Tells which rows come again, and counts them."""

    def __init__(self) -> None:
        self._time_us: dict[int, int] = {}
        self.again = self.changed = 0

    def first(self, identity: Int64Array, detected_at_us: Int64Array) -> BoolArray:
        """Whether each row is the first of its identity, bool (n,)."""
        is_first = np.ones(len(identity), np.bool_)
        for row, (known_by, time_us) in enumerate(zip(identity.tolist(), detected_at_us.tolist(), strict=True)):
            if known_by == UNKNOWN:
                continue
            if known_by not in self._time_us:
                self._time_us[known_by] = time_us
                continue
            is_first[row] = False
            is_same = self._time_us[known_by] == time_us
            self.again += is_same
            self.changed += not is_same
        return is_first

    def tell(self) -> None:
        """Say how many rows came again."""
        tell_repeats(self.again, self.changed)


def tell_repeats(again: int, changed: int) -> None:
    """Say how many rows came again, and how many had the id of another one."""
    if again:
        came = "1 detection" if again == 1 else f"{again} detections"
        note(f"{came} came again: each counts once")
    if changed:
        have = "1 detection has" if changed == 1 else f"{changed} detections have"
        note(f"{have} the sensor and id of an earlier one, but another time: the first counts")


Texts = npt.NDArray[np.object_]


def no_echoes(
    echo_us: int | None, detected_at_us: Int64Array, place: tuple[Texts, Texts], sensor: Texts, name: Texts
) -> BoolArray:
    """Whether each report is no echo, bool (n,); say how many are. `place` are areas and streams; None: there are none.

    Labels are empty where there are none: who names no sensor makes no echoes.
    """
    counts = np.ones(len(sensor), np.bool_)
    if echo_us is None:
        return counts
    known = np.flatnonzero(sensor != "")
    source = _hashes(zip(*(each[known].tolist() for each in (*place, sensor)), strict=True))
    counts[known] = ~are_echoes(source, detected_at_us[known], echo_us, name[known].astype(np.str_))
    echoes = int(np.count_nonzero(~counts))
    if echoes:
        are = "1 report is an echo" if echoes == 1 else f"{echoes:,} reports are echoes"
        note(f"{are}, at most {spoken(echo_us / 1e6)} s after another one of its sensor: the earliest counts")
    return counts
