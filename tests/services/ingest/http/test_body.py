import asyncio
import gzip
import tracemalloc
import zlib
from typing import Any

import pytest
from starlette.requests import Request

from services.common.problem import Problem
from services.ingest.http.body import inflate, read_body
from services.ingest.settings import Settings

SETTINGS = Settings(max_body_bytes=2048, body_timeout_s=0.2)


def read(
    chunks: list[bytes], *, pause_s: float = 0.0, endless: bool = False, kind: str = "http.request", **headers: str
) -> bytes:
    """Read a body that arrives in `chunks`; with `endless` the last one comes again and again."""
    waiting = list(chunks)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause_s)
        chunk = waiting[0] if endless and len(waiting) == 1 else waiting.pop(0) if waiting else b""
        return {"type": kind, "body": chunk, "more_body": endless or bool(waiting)}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": raw}, receive)
    return asyncio.run(read_body(request, SETTINGS))


def status_of(*arguments: Any, **options: Any) -> int:
    with pytest.raises(Problem) as caught:
        read(*arguments, **options)
    return caught.value.status


def test_a_body_in_pieces_is_joined() -> None:
    assert read([b"a", b"", b"bc"]) == b"abc"


def test_a_declared_length_beyond_the_limit_is_413_before_anything_is_read() -> None:
    assert status_of([], content_length="2049") == 413
    assert status_of([], content_length="9" * 5000) == 413


def test_an_undeclared_length_beyond_the_limit_is_413_as_soon_as_it_is_exceeded() -> None:
    assert status_of([b"x" * 1000], endless=True) == 413
    assert read([b"x" * 2048]) == b"x" * 2048
    assert status_of([b"x" * 2049]) == 413


def test_a_body_that_drips_is_408() -> None:
    assert status_of([b"x"], pause_s=0.05, endless=True) == 408
    assert status_of([b"x"], pause_s=5.0) == 408


def test_a_connection_given_up_is_no_body() -> None:
    assert status_of([], kind="http.disconnect") == 400


def test_gzip_is_inflated() -> None:
    assert read([gzip.compress(b"abc")], content_encoding="GZIP") == b"abc"


def test_a_gzip_bomb_is_413_and_never_inflated_whole() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000, compresslevel=9)
    tracemalloc.start()
    with pytest.raises(Problem) as caught:
        inflate(bomb, 100_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.status == 413
    assert peak_bytes < 2_000_000
    assert inflate(gzip.compress(b"\0" * 100_000), 100_000) == b"\0" * 100_000  # exactly at the limit


@pytest.mark.parametrize(
    "broken",
    [
        b"plain",
        b"",
        gzip.compress(b"abc")[:-1],
        gzip.compress(b"abc")[:-8] + b"\0" * 8,
        gzip.compress(b"abc") + b"more",
        gzip.compress(b"abc") + gzip.compress(b"def"),
        zlib.compress(b"abc"),
    ],
    # gzip writes the time: names made from the bytes would differ between the processes of a parallel run
    ids=["plain", "empty", "cut off", "wrong checksum", "trailing bytes", "two members", "zlib"],
)
def test_broken_gzip_is_400(broken: bytes) -> None:
    with pytest.raises(Problem) as caught:
        inflate(broken, 1000)
    assert caught.value.status == 400
