"""Templates: the histograms that buffered detections are stamped with, verified and known by a small code."""

from __future__ import annotations

from enum import IntEnum

import msgspec
import numpy as np
from msgspec import Raw, Struct, json

from coincide import Histogram
from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.errors import HistogramError


class Fault(IntEnum):
    """Codes of templates that cannot be used; usable ones are 0 and up."""

    MISSING = -1
    MALFORMED = -2
    MISMATCH = -3


class _TemplateJson(Struct, forbid_unknown_fields=True):
    edges_s: list[float]
    mass: list[float]


_decoder = json.Decoder(_TemplateJson)


class Templates:
    """Verified histograms by code; a code is used again once its template is forgotten.

    Attributes
    ----------
    histograms : list of Histogram or None
        By code; None where a code is free.
    """

    def __init__(self, max_buckets: int) -> None:
        self.histograms: list[Histogram | None] = []
        self._max_buckets = max_buckets
        self._code_of: dict[str, int] = {}
        self._free: list[int] = []
        self._bounds = np.zeros((2, 16), np.int64)

    def __len__(self) -> int:
        return len(self._code_of)

    def code(self, claimed_id: str, content: Raw) -> int:
        """Return the code of a template that a frame carries, or a `Fault`.

        What is known by that id already has been verified once; the frame's copy is then not looked at.
        """
        known = self._code_of.get(claimed_id)
        if known is not None:
            return known
        try:
            fields = _decoder.decode(content)
            if len(fields.mass) > self._max_buckets:
                return Fault.MALFORMED
            histogram = Histogram(fields.edges_s, fields.mass)
        except (msgspec.MsgspecError, HistogramError, RecursionError, ValueError):
            return Fault.MALFORMED
        return self.add(histogram) if histogram.id == claimed_id else Fault.MISMATCH

    def add(self, histogram: Histogram) -> int:
        """Return the code of a histogram, known or new."""
        known = self._code_of.get(histogram.id)
        if known is not None:
            return known
        code = self._free.pop() if self._free else len(self.histograms)
        if code == len(self.histograms):
            self.histograms.append(None)
        self.histograms[code] = histogram
        self._code_of[histogram.id] = code
        self._set_bounds(code, histogram)
        return code

    def histogram(self, code: int) -> Histogram:
        """Return the histogram of a code in use."""
        histogram = self.histograms[code]
        if histogram is None:
            raise LookupError(f"no template has the code {code}")
        return histogram

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down."""
        earliest: Int64Array = self._bounds[0]
        return earliest

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up."""
        latest: Int64Array = self._bounds[1]
        return latest

    def forget_all_but(self, used: CodeArray) -> list[int]:
        """Free the codes that are not among `used`, and return them."""
        keep = set(used.tolist())
        gone = {template_id: code for template_id, code in self._code_of.items() if code not in keep}
        for template_id, code in gone.items():
            del self._code_of[template_id]
            self.histograms[code] = None
            self._bounds[:, code] = 0
            self._free.append(code)
        return list(gone.values())

    def _set_bounds(self, code: int, histogram: Histogram) -> None:
        if code >= self._bounds.shape[1]:
            self._bounds = np.concatenate((self._bounds, np.zeros_like(self._bounds)), axis=1)
        self._bounds[:, code] = histogram.earliest_us, histogram.latest_us
