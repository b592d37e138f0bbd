"""StreamBuffers: the events that live joins keep, by source, and the templates of these events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.templates.codes import TemplateRegistry
from coincide.templates.histogram import Histogram

SPARE_TEMPLATES = 64  # forget unused templates once there are this many more than twice the used ones


SourceName = Any
"""What names a buffer: anything that can be a key of a dict, such as the name of a stream."""

BuffersState = dict[SourceName, tuple[tuple[Histogram, ...], Events]]


class StreamBuffers:
    """One buffer and one registry of templates for each stream, by name.

    Events are buffered under their earliest time, not the reported one: see `search.edge_judges`.
    """

    def __init__(self, streams: Iterable[SourceName]) -> None:
        self._buffers = {name: Buffer() for name in streams}
        self.templates: dict[SourceName, TemplateRegistry] = {name: TemplateRegistry() for name in self._buffers}

    def coded(self, stream: SourceName, batch: Events, templates: Sequence[Histogram]) -> Events:
        """Return rows by earliest time, sorted, the position of each template in `templates` replaced by its code."""
        registry = self.templates[stream]
        template = registry.codes(templates)[batch.template]
        earliest_us = batch.detected_at_us + registry.earliest_us[template]
        return replace(batch, detected_at_us=earliest_us, template=template).sorted()

    def insert(self, stream: SourceName, batch: Events) -> None:
        """Keep rows that are coded."""
        self._buffers[stream].insert(batch)

    def buffer(self, source: SourceName) -> Buffer:
        """Return the buffer of a source."""
        return self._buffers[source]

    def evict(self, watermark_us: Int64Array, reach_us: Mapping[SourceName, int]) -> None:
        """Drop events that no detection which is on time can match any more.

        `watermark_us` is by area code, `reach_us` by stream: see `retention`.
        """
        for name, buffer in self._buffers.items():
            reach = reach_us[name] - self.templates[name].greatest_length_us
            buffer.evict(np.where(watermark_us == BEFORE_ALL_US, BEFORE_ALL_US, watermark_us + reach))

    @property
    def state(self) -> BuffersState:
        """All there is to save: the templates and the events of each stream."""
        return {name: (tuple(self.templates[name].templates), self._buffers[name].events()) for name in self._buffers}

    @classmethod
    def restore(cls, state: BuffersState) -> StreamBuffers:
        """Return buffers that go on from a state."""
        buffers = cls(state)
        for name, (templates, events) in state.items():
            buffers.templates[name].codes(templates)
            buffers.insert(name, events)
        return buffers

    def drop_areas(self, areas: CodeArray) -> Int64Array:
        """Drop all events of some areas, whatever their stream; return their refs."""
        return np.concatenate([buffer.drop_areas(areas) for buffer in self._buffers.values()])

    def forget_templates(self) -> dict[SourceName, CodeArray]:
        """Forget templates that no event uses, once they are many; return new codes by old code where they changed."""
        new_codes = {}
        for name, registry in self.templates.items():
            if len(registry) <= SPARE_TEMPLATES:
                continue
            used = np.unique(self._buffers[name].codes()[2])
            if len(registry) > 2 * len(used) + SPARE_TEMPLATES:
                new_codes[name] = registry.keep_only(used)
                self._buffers[name].recode_templates(new_codes[name])
        return new_codes

    def __len__(self) -> int:
        """How many events are buffered, all streams together."""
        return sum(map(len, self._buffers.values()))

    @property
    def templates_known(self) -> int:
        """How many templates are known, all streams together."""
        return sum(len(registry) for registry in self.templates.values())

    def least_ref(self, default: int) -> int:
        """Return the least ref in any buffer, `default` if all are empty."""
        least = [ref for buffer in self._buffers.values() if (ref := buffer.least_ref()) is not None]
        return min(least, default=default)

    def codes_in_use(self) -> tuple[CodeArray, CodeArray]:
        """Return the codes of area and of sensor of every buffered event, some of them often."""
        codes = [buffer.codes() for buffer in self._buffers.values()]
        return np.concatenate([area for area, _, _ in codes]), np.concatenate([sensor for _, sensor, _ in codes])
