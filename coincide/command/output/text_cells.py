"""Cells of text, CSV or NDJSON: whole columns become text, and then rows."""

from __future__ import annotations

import json
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BARE = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)  # what JSON writes without quotes


class TextFormat(Protocol):
    """How a row is written: opening, cells with a comma between, ending."""

    opening: str
    ending: str

    def header(self, names: list[str]) -> str:
        """Return what stands before the first row."""
        ...

    def cells(self, name: str, values: pa.Array) -> pa.Array:
        """Return the values of a column as they are to stand in the file, large_string (n,)."""
        ...


class CsvFormat:
    """RFC 4180, with line ends as Unix has them."""

    opening, ending = "", "\n"

    def header(self, names: list[str]) -> str:
        """Return the line of names."""
        return ",".join(self.cells("", pa.array(names, pa.large_string())).to_pylist()) + "\n"

    def cells(self, name: str, values: pa.Array) -> pa.Array:  # noqa: ARG002 - the protocol's
        """Quote the texts that need it."""
        texts = _as_text(values)
        to_quote = pc.match_substring_regex(texts, '[",\r\n]')
        if not pc.any(to_quote).as_py():
            return texts
        quoted = concatenated('"', pc.replace_substring(texts, '"', '""'), '"')
        return pc.if_else(to_quote, quoted, texts)


class NdjsonFormat:
    """One JSON object a line."""

    opening, ending = "{", "}\n"

    def header(self, names: list[str]) -> str:  # noqa: ARG002 - the protocol's
        """Return nothing: every line names its fields."""
        return ""

    def cells(self, name: str, values: pa.Array) -> pa.Array:
        """Return ``"name":value``."""
        texts = _as_text(values)
        if not any(is_bare(values.type) for is_bare in _BARE):
            texts = _json_strings(texts)
        return concatenated(f"{json.dumps(name)}:", texts.fill_null("null"))


def cells_of(table: pa.Table, form: TextFormat) -> pa.Array:
    """Return the cells of all columns, a comma between them, large_string (n,)."""
    columns = [(name, values.combine_chunks()) for name, values in zip(table.column_names, table.columns, strict=True)]
    cells = [form.cells(name, values).fill_null("") for name, values in columns]
    return concatenated(*cells, separator=",")


def concatenated(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    """Put texts together row by row; a str stands in every row."""
    scalars = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, separator)]
    return pc.binary_join_element_wise(*scalars)


def _as_text(values: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(values.type):
        return values.cast(pa.string()).cast(pa.large_string())
    without_zone = values.cast(pa.timestamp("us"))  # all are in UTC; a cast with the zone takes thirty times as long
    texts = without_zone.cast(pa.string()).cast(pa.large_string())
    return concatenated(pc.replace_substring(texts, " ", "T", max_replacements=1), "Z")


def _json_strings(texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        quoted = [None if text is None else json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()]
        return pa.array(quoted, pa.large_string())
    return concatenated('"', texts, '"')


def bytes_of(texts: pa.Array) -> memoryview:
    """All texts, one after the other, as they lie in the array's own buffer."""
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(content)[ends[0] : ends[-1]] if content is not None else memoryview(b"")
