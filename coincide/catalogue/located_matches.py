"""LocatedMatch: what a catalogue takes from the JSON of a match."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec import Struct

from coincide.wire.results.source_place import SourcePlace


class LocatedMember(Struct, frozen=True, gc=False):
    """A detection of the match."""

    sensor: str
    id: str
    stream: str
    detected_at_us: int


class LocatedMatch(Struct, frozen=True, gc=False):
    """A match, and where its source was; `place` is None where that is not told."""

    id: str
    query: str
    area: str
    members: Sequence[LocatedMember]
    place: SourcePlace | None = None


_decoder = msgspec.json.Decoder(LocatedMatch)


def located_match(body: str | bytes) -> LocatedMatch:
    """Return the match in a JSON text, whatever else that says.

    Raises
    ------
    ValueError
        The text is no JSON, or no match.

    Examples
    --------
    >>> body = '{"id": "m-1", "query": "bang", "area": "hall", "members": [], "place": null}'
    >>> located_match(body).place is None
    True
    """
    return _decoder.decode(body)


def instant_text(instant_us: int) -> str:
    """Return microseconds since 1970 as RFC 3339 in UTC."""
    return f"{np.datetime_as_string(np.datetime64(instant_us, 'us'))}Z"
