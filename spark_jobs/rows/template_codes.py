"""VerifiedTemplates: the histograms that buffered detections are stamped with, verified and known by a small code."""

from enum import IntEnum

import msgspec
from msgspec import Raw, Struct, json

from coincide import Histogram
from coincide.arrays.kinds import CodeArray
from coincide.errors import HistogramError
from coincide.templates.codes import TemplateRegistry


class Fault(IntEnum):
    """Codes of templates that cannot be used; usable ones are 0 and up."""

    MISSING = -1
    MALFORMED = -2
    MISMATCH = -3


class _TemplateJson(Struct, forbid_unknown_fields=True):
    edges_s: list[float]
    mass: list[float]


_decoder = json.Decoder(_TemplateJson)


class VerifiedTemplates(TemplateRegistry):
    """A template registry that takes templates from frames, as JSON under the id that they claim to have."""

    def __init__(self, max_buckets: int) -> None:
        super().__init__()
        self._max_buckets = max_buckets
        self._code_of_id: dict[str, int] = {}

    def code(self, claimed_id: str, content: Raw) -> int:
        """Return the code of a frame's template, or a `Fault`; one known by its id is not looked at again."""
        known = self._code_of_id.get(claimed_id)
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
        [code] = self.codes([histogram]).tolist()
        self._code_of_id[histogram.id] = code
        return int(code)

    def keep_only(self, used: CodeArray) -> CodeArray:
        """Forget the other codes; return new codes by old code (-1: forgotten). `used` is sorted."""
        new_code = super().keep_only(used)
        self._code_of_id = {histogram.id: code for code, histogram in enumerate(self.templates)}
        return new_code
