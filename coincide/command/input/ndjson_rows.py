"""Rows of an NDJSON file: one JSON object a line, as gateways post them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from coincide.command.faults import BadRows, CommandError, ValueRefused, shown
from coincide.command.input.chunks import Advance, Chunk, opened_text

ROWS = 65_536


def ndjson_chunks(path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance) -> Iterator[Chunk]:
    """Yield the rows of `path`, blank lines left out; a line that is no JSON object is bad.

    A field `uncertainty`, which ingest takes, counts as the fields inside it. ``attributes.celsius`` is the field
    `celsius` inside `attributes`, unless there is one of that very name.
    """
    with opened_text(path) as (text, share_read):
        numbered = ((line, content) for line, content in enumerate(text, 1) if not content.isspace())
        first = 1
        while part := list(islice(numbered, ROWS)):
            chunk = _chunk(part, first, wanted, bad)
            if len(chunk.row):
                yield chunk
            first += len(part)
            advance(share_read())


LONGEST_LINE = 1 << 20


def arriving_chunks(path: Path, wanted: Sequence[str], bad: BadRows) -> Iterator[Chunk]:
    """Yield the rows of standard input as they come: all lines that are whole make a chunk, however few they are."""
    if sys.stdin is None:
        raise CommandError(f"{path} is closed")
    row, line, rest = 1, 1, b""
    source = cast("BufferedReader", sys.stdin.buffer)
    while arrived := source.read1(LONGEST_LINE):
        *whole, rest = (rest + arrived).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise CommandError(f"{path} line {line + len(whole)}: longer than {LONGEST_LINE} bytes")
        yield from _arrived(whole, row, line, wanted, bad)
        row, line = row + sum(map(bool, map(bytes.strip, whole))), line + len(whole)
    yield from _arrived([rest], row, line, wanted, bad)


def _arrived(lines: list[bytes], row: int, line: int, wanted: Sequence[str], bad: BadRows) -> Iterator[Chunk]:
    texts = ((at, content.decode(errors="surrogateescape")) for at, content in enumerate(lines, line))
    filled = [(at, text.removeprefix("\ufeff") if at == 1 else text) for at, text in texts if text.strip()]
    chunk = _chunk(filled, row, wanted, bad)
    if len(chunk.row):
        yield chunk


def _chunk(lines: list[tuple[int, str]], first: int, wanted: Sequence[str], bad: BadRows) -> Chunk:
    objects, rows, places = [], [], []
    for row, (line, content) in enumerate(lines, first):
        try:
            objects.append(_object(content))
        except ValueError as error:  # JSONDecodeError is one
            bad.add(line, str(error))
            continue
        rows.append(row)
        places.append(line)
    there = set[str]().union(*objects)
    columns = {name: [each.get(name) for each in objects] for name in wanted if name in there}
    for name in wanted:
        if name not in there and "." in name:
            inside = [_inside(each, name) for each in objects]
            columns |= {name: inside} if any(value is not None for value in inside) else {}

    def said_without(without: Sequence[str]) -> list[str]:
        said = ({name: value for name, value in each.items() if name not in without} for each in objects)
        return [json.dumps(each, sort_keys=True) for each in said]

    return Chunk(columns, np.array(rows, np.int64), np.array(places, np.int64), sorted(there), said_without)


def _inside(obj: dict[str, Any], path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


ARRAY = ": jq -c '.[]' writes the items of an array so, one a line"


def _object(content: str) -> dict[str, Any]:
    try:
        obj = json.loads(content.rstrip())
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    except json.JSONDecodeError as error:  # its own line number is always 1
        begins_array = ARRAY if content.strip() == "[" else ""
        raise ValueError(f"no JSON: {error.msg} at character {error.pos + 1}{begins_array}") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(obj, dict):
        raise ValueError(f"JSON, but no object{ARRAY * isinstance(obj, list)}")  # noqa: TRY004 - of a value
    own = obj.get("uncertainty")
    if own is None:
        return obj
    if not isinstance(own, dict) or not own.keys() <= {"sigma_s", "earliest", "latest"}:
        raise ValueRefused("uncertainty", own, "sigma_s, or earliest and latest; for a histogram name a template")
    for name in own.keys() & obj.keys():
        if obj[name] is not None and obj[name] != own[name]:
            raise ValueRefused("uncertainty", own, f"no other {name} than beside it, which is {shown(obj[name])}")
    return {**obj, **own}
