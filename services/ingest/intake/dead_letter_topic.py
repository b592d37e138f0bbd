"""Dead letters: refused items written to coincide.dead-letters, bounded in size and rate, never failing a POST."""

import time
from typing import Any

import msgspec

from coincide.wire.content_ids import content_id
from coincide.wire.results.dead_letter import LONGEST_RECORD_TEXT, DeadLetter
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import Publisher
from services.ingest.verdicts import Refused, clean_text, render

BURST_S = 5.0
_encode = msgspec.json.Encoder().encode


class DeadLetters:
    """Writes refused items as fast as allowed (a token bucket of 5 s) and counts those it had to drop."""

    def __init__(self, publisher: Publisher, metrics: IngestMetrics, per_s: float) -> None:
        self._publisher = publisher
        self._metrics = metrics
        self._per_s = per_s
        self._allowance = per_s * BURST_S
        self._filled_at_s = time.monotonic()

    def write(self, refused: Refused, original: Any, area: str | None, received_at_us: int) -> None:
        """Write one refused item, or count it as dropped; never raises because of what the item holds."""
        is_sent = self._take_token() and self._publisher.send_dead_letter(
            *_letter(refused, original, area, received_at_us).to_record()
        )
        (self._metrics.dead_letters if is_sent else self._metrics.dead_letters_dropped).inc()

    def _take_token(self) -> bool:
        now_s = time.monotonic()
        earned = (now_s - self._filled_at_s) * self._per_s
        self._allowance = min(self._allowance + earned, max(self._per_s * BURST_S, 1.0 if self._per_s else 0.0))
        self._filled_at_s = now_s
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True


def _letter(refused: Refused, original: Any, area: str | None, received_at_us: int) -> DeadLetter:
    record = _bounded_json(original)
    return DeadLetter(
        dead_id=content_id("d", ("ingest", refused.reason, record)),
        source="ingest",
        reason=refused.reason,
        detail=clean_text(refused.detail, 1024),
        received_at_us=received_at_us,
        area=area,
        stream=_text_member(original, "stream"),
        sensor=_text_member(original, "sensor"),
        id=_text_member(original, "id"),
        record=record,
    )


def _bounded_json(original: Any) -> msgspec.Raw:
    """Return the item as JSON if it is clean and short, else as a JSON text of at most 2 KiB characters."""
    try:
        encoded = _encode(original)
    except (TypeError, ValueError, OverflowError, RecursionError):
        encoded = b""
    if encoded and len(encoded) <= LONGEST_RECORD_TEXT:
        return msgspec.Raw(encoded)
    text = original if isinstance(original, str) else _rendered(original)
    return msgspec.Raw(_encode(clean_text(text, LONGEST_RECORD_TEXT)))


def _rendered(original: Any) -> str:
    try:
        return render(original)
    except (ValueError, RecursionError):
        return "(nested too deep to show)"


def _text_member(original: Any, name: str) -> str | None:
    member = original.get(name) if isinstance(original, dict) else None
    return clean_text(member, 200) if isinstance(member, str) else None
