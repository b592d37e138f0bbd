"""Ids made from content: whoever writes the same thing again gives it the same id, so repeating it is harmless."""

import hashlib
from typing import Any

from msgspec import json

_canonical = json.Encoder(order="deterministic").encode


def content_id(kind: str, content: Any) -> str:
    """Return ``kind``, a hyphen and 32 hex digits: the first 16 bytes of SHA-256 over the content's JSON.

    Parameters
    ----------
    kind
        A letter that tells what the id names: h for a detection, m for a match, e for an episode, d for a dead letter.
    content
        What msgspec can encode. Its JSON is compact UTF-8; the keys of each dict are sorted.

    Examples
    --------
    >>> content_id("m", ["q"])
    'm-ecdcb213e02a9c3c73f2c376e5859024'
    """
    return f"{kind}-{hashlib.sha256(_canonical(content)).hexdigest()[:32]}"
