"""Templates ready for stamping: a histogram with what every detection and frame needs of it worked out once."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from coincide import Histogram
from coincide.stream import Stream
from services.ingest.reasons import Reason, Refused

MOST_BUCKETS = 64
FURTHEST_REACH_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Template:
    """A histogram of (occurrence - detected_at), its bounds in whole microseconds and its JSON as it goes on the wire.

    Attributes
    ----------
    earliest_us, latest_us : int
        Relative to detected_at; both ends belong to it.
    """

    histogram: Histogram
    id: str
    earliest_us: int
    latest_us: int
    json: msgspec.Raw

    @classmethod
    def of(cls, histogram: Histogram) -> Template:
        """Return the template of `histogram`."""
        wire = msgspec.Raw(msgspec.json.encode(histogram.to_json()))
        return cls(histogram, histogram.id, histogram.earliest_us, histogram.latest_us, wire)


def refuse_unfit_template(histogram: Histogram, stream: Stream, field: str) -> None:
    """Refuse what the stream's declaration, and thereby every buffer's retention, does not allow for.

    Raises
    ------
    Refused
        `template_too_long`: longer than declared, more than 64 buckets, or a day or more away from detected_at.
    """
    if histogram.length_s > stream.longest_template_s:
        allowed = f"at most {stream.longest_template_s:g} s for stream {stream.name}, as declared"
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, histogram.length_s, allowed)
    if len(histogram.mass) > MOST_BUCKETS:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, len(histogram.mass), f"at most {MOST_BUCKETS} buckets")
    reach_s = max(-histogram.earliest_s, histogram.latest_s)
    if reach_s > FURTHEST_REACH_S:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, reach_s, f"within {FURTHEST_REACH_S:g} s of detected_at")
