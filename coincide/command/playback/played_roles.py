"""Which events may play the roles of queries: by their stream, by filters, and by the attribute that is equal."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coincide.arrays.kinds import BoolArray
from coincide.command.arguments.options import STDIN
from coincide.command.input.file_events import FileEvents
from coincide.queries import Query
from coincide.queries.fields.checks import attribute_name
from coincide.queries.joins.role_filter import Source

TextArray = npt.NDArray[np.object_]
Scalar = str | int | float | bool


@dataclass(frozen=True)
class KeyedSource:
    """The events of a source that have a value of the attribute `equal`, if that is given."""

    source: Source
    equal: str | None

    @property
    def is_whole(self) -> bool:
        """Whether all events of its stream are in it."""
        return self.source.is_whole and self.equal is None


def keyed_sources_of(query: Query) -> list[KeyedSource]:
    """Return where the members of each role come from."""
    return [KeyedSource(source, query.equal) for source in query.sources]


def attributes_of(queries: Iterable[Query]) -> list[str]:
    """Return the attributes that queries read, in order, each once."""
    tested = (name for query in queries for source in query.sources for name, _ in source.filter.where)
    equal = (query.equal for query in queries if query.equal is not None)
    return list(dict.fromkeys((*tested, *equal)))


def attributes_json(events: FileEvents) -> npt.NDArray[np.object_]:
    """Return the attributes of each event as a JSON object, without those that it does not have."""
    names = [attribute_name(name) for name in events.attributes]
    if not names:
        return np.full(len(events), b"{}", dtype=object)
    every = zip(*events.attributes.values(), strict=True)
    given = ({name: each for name, each in zip(names, values, strict=True) if each is not None} for values in every)
    return np.array([*map(msgspec.json.encode, given)], dtype=object)


@dataclass(frozen=True, eq=False)
class PlayingEvents:
    """Events of a file, and what queries ask of each.

    An event without a stream is of the stream `otherwise`. Labels are texts, empty where there is none.
    """

    events: FileEvents
    otherwise: str

    @cached_property
    def stream(self) -> TextArray:
        """The stream of each event."""
        given = self.label("stream")
        return np.where(given == "", self.otherwise, given).astype(object)

    def label(self, name: str) -> TextArray:
        """Return a label of each event."""
        column = self.events.labels.get(name, pa.nulls(len(self.events)))
        texts: TextArray = column.cast(pa.large_string()).fill_null("").to_numpy(zero_copy_only=False)
        return texts

    def are_in(self, keyed: KeyedSource) -> BoolArray:
        """Whether each event is of a source, bool (n,)."""
        source = keyed.source
        mask: BoolArray = np.asarray(self.stream == source.stream, dtype=np.bool_)
        if not source.is_whole:
            names = list(zip(self.label("sensor").tolist(), self.label("area").tolist(), strict=True))
            admitted = {each: source.admits_names(*each) for each in dict.fromkeys(names)}
            mask &= np.fromiter(map(admitted.__getitem__, names), np.bool_, len(names))
        if source.filter.where:
            tested = {name: self.events.attributes[name] for name, _ in source.filter.where}
            for row in np.flatnonzero(mask).tolist():
                mask[row] = source.filter.admits_attributes({name: each[row] for name, each in tested.items()}.get)
        return mask if keyed.equal is None else mask & (self.keys(keyed.equal) != "")

    def no_numbers(self, sources: Iterable[Source]) -> dict[str, list[Any]]:
        """Return, by attribute, the values that are no numbers where a source asks for limits; none by no name."""
        found: dict[str, dict[int, Any]] = defaultdict(dict)
        for source in sources:
            of_stream = np.flatnonzero(self.stream == source.stream).tolist()
            for name, test in source.filter.where:
                values = self.events.attributes[name]
                found[name] |= {row: values[row] for row in of_stream if test.cannot_tell(values[row])}
        return {name: [*rows.values()] for name, rows in found.items() if rows}

    def keys(self, equal: str) -> TextArray:
        """Return texts that are equal where the values of an attribute are; empty where there is none."""
        return np.array([*map(_key, self.events.attributes[equal])], dtype=object)


def _key(value: Any) -> str:
    if not isinstance(value, Scalar) or value != value:  # noqa: PLR0124 - nan is no value
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # numbers are compared by what they are worth
    return json.dumps(value)


def stream_otherwise(events: FileEvents, given: str | None, queries: Sequence[Query]) -> str:
    """Return the stream of events that name none: the given one, the only one of all queries, or the file's name."""
    streams = {stream for query in queries for stream in query.streams}
    if given is not None:
        return given
    if len(streams) == 1:
        return next(iter(streams))
    return "" if events.path == STDIN else events.path.name.split(".")[0]
