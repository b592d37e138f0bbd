"""Opening text files, gzip or plain, with how far they have been read."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, cast

Advance = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""


@contextmanager
def opened_text(path: Path) -> Iterator[tuple[TextIOWrapper, Callable[[], float]]]:
    """Open `path` as UTF-8, with or without a byte order mark; yield it, and what says the share that is read.

    Bytes that are no UTF-8 come as lone surrogates, for the column that holds them to refuse.
    """
    with path.open("rb") as raw:
        size = path.stat().st_size if raw.seekable() else 0  # nobody knows how long a pipe is
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw
        with TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            yield text, lambda: min(raw.tell() / size, 1.0) if size else 0.0
