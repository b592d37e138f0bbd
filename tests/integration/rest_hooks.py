"""Lets schemathesis write NDJSON, which it does not by itself."""

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def write_ndjson(_context: Any, value: Any) -> bytes:
    items = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(each) for each in items).encode()
