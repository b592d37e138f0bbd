"""Formats of results beside JSON: NDJSON, CSV and Parquet, written part by part in bounded memory."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, Literal, TypeVar

from coincide.catalogue import geojson, located_match, quakeml
from services.alerting.exports.result_columns import (
    Column,
    Parts,
    Times,
    column_names,
    decode_json,
    encode_json,
    with_rfc_3339,
)
from services.common.clock import in_rfc_3339
from services.common.http.problem import Problem

Kind = TypeVar("Kind")
Format = Literal["json", "ndjson", "csv", "parquet"]
MapFormat = Literal["geojson", "quakeml"]
AnyFormat = Format | MapFormat
MEDIA_TYPES: dict[AnyFormat, str] = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
MAP_MEDIA_TYPES: dict[AnyFormat, str] = {"geojson": "application/geo+json", "quakeml": "application/xml"}
ACCEPTED: dict[str, AnyFormat] = {
    **{media_type: form for form, media_type in MEDIA_TYPES.items()},
    "application/jsonl": "ndjson",
    "application/*": "json",
    "text/*": "csv",
    "*/*": "json",
}


NO_MORE: Mapping[AnyFormat, str] = {}


def chosen_format(named: AnyFormat | None, accept: str | None, more: Mapping[AnyFormat, str] = NO_MORE) -> AnyFormat:
    """Return the format that `?format=` names, else the one that the header Accept likes best.

    `more` are media types of formats that not all lists have. Raises `Problem`: 406 if the header takes none of them.
    """
    if named is not None or not accept:
        return named or "json"
    best = best_liked(accept, ACCEPTED | {media_type: form for form, media_type in more.items()})
    if best is None:
        allowed = ", ".join((*MEDIA_TYPES.values(), *more.values()))
        raise Problem(406, f"Accept: {accept[:80]!r}: allowed are {allowed}, or ?format=")
    return best


def best_liked(accept: str, formats: Mapping[str, Kind]) -> Kind | None:
    """Return the format, by its media types, that the header Accept likes best, of equals the first; None: none."""
    liked = [(quality, formats[name]) for name, quality in map(_media_range, accept.split(",")) if name in formats]
    best = max(liked, key=lambda each: each[0], default=None)
    return None if best is None or best[0] <= 0 else best[1]


def _media_range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    try:
        return name, float(quality)
    except ValueError:
        return name, 0.0


#: https://owasp.org/www-community/attacks/CSV_Injection, and the wide ones, which some spreadsheets take for the same.
FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def body_with_times(body: str, times: Times) -> str:
    """Return the JSON text of a result, with times in RFC 3339 where they are asked for."""
    return body if times == "us" else encode_json(with_rfc_3339(decode_json(body))).decode()


def ndjson(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:  # noqa: ARG001 - the others' form
    """Yield a line for each result: its JSON as it is stored."""
    for part in parts:
        yield "".join(f"{body_with_times(body, times)}\n" for body in part).encode()


def csv_text(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:
    """Yield CSV as RFC 4180 has it, with a line of names; what is no plain value is JSON."""
    yield _lines([[name for column in columns for name in column_names(column, times)]])
    for part in parts:
        rows = map(decode_json, part)
        yield _lines([cell for column in columns for cell in _cells(column, row, times)] for row in rows)


def _cells(column: Column, row: Mapping[str, Any], times: Times) -> list[object]:
    value = column.value(row)
    if column.kind == "time" and times == "rfc3339":
        return [value, None if value is None else in_rfc_3339(value)]
    if column.kind in ("texts", "members") and value is not None:
        return [encode_json(value).decode()]
    if isinstance(value, bool):
        return [("false", "true")[value]]
    return [harmless(value) if column.kind == "text" and value is not None else value]


def harmless(text: str) -> str:
    """Return a text that a spreadsheet takes for a text: one that it would take for a formula has a ' before it.

    Names of areas and all of a dead letter are as somebody has posted them.
    """
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def parquet(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:
    """Return Parquet in groups of rows; times in RFC 3339 are timestamps in UTC there.

    Raises `Problem`: 406 where the packages of Parquet are not installed.
    """
    if find_spec("pyarrow") is None:
        raise Problem(406, "Parquet needs an extra, pip install 'coincide[parquet]'; NDJSON and CSV do not")
    from services.alerting.exports.parquet_results import groups_of_rows  # noqa: PLC0415 - 60 MB that few need

    return groups_of_rows(parts, columns, times)


def feature_collection(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:  # noqa: ARG001 - as all
    """Yield GeoJSON of the matches that have a place."""
    return geojson(map(located_match, chain.from_iterable(parts)))


def earthquakes(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:  # noqa: ARG001 - as all
    """Yield QuakeML of the matches that have a place on the Earth."""
    return quakeml(map(located_match, chain.from_iterable(parts)))


FORMATS: dict[AnyFormat, Callable[[Parts, Sequence[Column], Times], Iterator[bytes]]] = {
    "ndjson": ndjson,
    "csv": csv_text,
    "parquet": parquet,
    "geojson": feature_collection,
    "quakeml": earthquakes,
}
