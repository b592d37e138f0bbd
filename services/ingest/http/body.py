"""Reading a body: bounded in bytes and in time, inflated where it is gzip."""

import asyncio
import zlib

from starlette.requests import Request

from services.common.problem import Problem
from services.ingest.http.parsing import Form
from services.ingest.settings import Settings

FORMS = {
    "application/json": Form.JSON,
    "application/x-ndjson": Form.NDJSON,
    "application/ndjson": Form.NDJSON,
    "application/jsonl": Form.NDJSON,
}
_GZIP_WINDOW = 31
_CLOSE = {"Connection": "close"}  # the rest of the body is not going to be read


def form_of(request: Request) -> Form:
    """Return how the body holds its items, by its Content-Type; raises a 415 `Problem`."""
    content_type = _header(request, b"content-type", "application/json")
    form = FORMS.get(content_type) or FORMS.get(content_type.partition(";")[0].strip().lower())
    if form is None:
        raise Problem(415, f"Content-Type must be one of {', '.join(FORMS)}", _CLOSE)
    return form


async def read_body(request: Request, settings: Settings) -> bytes:
    """Return the whole body, inflated; a `Problem`: 400 broken, 408 slow, 413 too long, 415 another encoding."""
    encoding = _header(request, b"content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise Problem(415, "Content-Encoding must be gzip or identity", {"Accept-Encoding": "gzip", **_CLOSE})
    declared = _header(request, b"content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > settings.max_body_bytes:
        raise _too_long(settings.max_body_bytes)
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            body = await _received(request, settings.max_body_bytes)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {settings.body_timeout_s:g} s", _CLOSE) from None
    return inflate(body, settings.max_body_bytes) if encoding == "gzip" else body


def _header(request: Request, name: bytes, default: str) -> str:
    """`request.headers.get`, in a tenth of its time."""
    for each, value in request.scope["headers"]:
        if each == name:
            return str(value, "latin-1")
    return default


def _too_long(limit: int) -> Problem:
    return Problem(413, f"the body is longer than {limit} bytes; send fewer detections in a POST", _CLOSE)


async def _received(request: Request, limit: int) -> bytes:
    message = await request.receive()
    chunks = [_chunk(message)]
    length = len(chunks[0])
    while message.get("more_body", False) and length <= limit:
        message = await request.receive()
        chunks.append(_chunk(message))
        length += len(chunks[-1])
    if length > limit:
        raise _too_long(limit)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _chunk(message: object) -> bytes:
    assert isinstance(message, dict)  # noqa: S101 - ASGI
    if message["type"] == "http.disconnect":
        raise Problem(400, "the connection was closed before the body was complete", _CLOSE)
    chunk: bytes = message.get("body", b"")
    return chunk


def inflate(body: bytes, limit: int) -> bytes:
    """Return the one gzip member in `body`, never making more than `limit` + 1 bytes of it; raises a `Problem`."""
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        inflated = inflater.decompress(body, limit + 1)
    except zlib.error:
        raise Problem(400, "the body is not gzip, as its Content-Encoding says") from None
    if len(inflated) > limit:
        raise _too_long(limit)
    if not inflater.eof:
        raise Problem(400, "the gzip body ends too early")
    if inflater.unused_data:
        raise Problem(400, "the gzip body has something after its end; send one gzip member")
    return inflated
