"""CodedTemplates: templates that events name by a small code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from coincide.arrays import Int64Array
from coincide.histogram import Histogram


class CodedTemplates(Protocol):
    """Templates by code, with their bounds in arrays by code."""

    def histogram(self, code: int) -> Histogram:
        """Return the template of a code."""

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down."""

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up."""


class TemplatesInOrder:
    """A frame's templates: the code of each is its position."""

    def __init__(self, templates: Sequence[Histogram]) -> None:
        self._templates = templates
        self._earliest_us = np.array([template.earliest_us for template in templates], dtype=np.int64)
        self._latest_us = np.array([template.latest_us for template in templates], dtype=np.int64)

    def histogram(self, code: int) -> Histogram:
        """Return the template at a position."""
        return self._templates[code]

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each template, relative to the reported time, rounded down."""
        return self._earliest_us

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each template, relative to the reported time, rounded up."""
        return self._latest_us
