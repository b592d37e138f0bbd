"""Lists of results: their parameters; one page as JSON, or all that pass the filters as a stream of another format."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Header, Response
from msgspec import Struct
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from sqlalchemy import Connection, Engine
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from coincide.arrays.instants import FROM_1980_ON, YEAR_1980_US
from coincide.wire.fields import LONGEST_NAME
from services.alerting.api.result_models import answers
from services.alerting.exports.result_columns import Column, Times
from services.alerting.exports.result_formats import (
    FORMATS,
    MAP_MEDIA_TYPES,
    MEDIA_TYPES,
    NO_MORE,
    AnyFormat,
    Format,
    body_with_times,
    chosen_format,
)
from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import bounded
from services.alerting.store.query_rows import unknown_queries
from services.common.access.caller import caller_in
from services.common.clock import LAST_US, rfc_3339_us
from services.common.http.pages import PageParameters, decode_cursor, encode_cursor, json_page, page_limit
from services.common.http.problem import Problem
from services.common.http.shares import Shares

Accept = Annotated[str | None, Header(description="The format, where `format` names none.")]

PART_ROWS = 1000  # read at once, in a transaction of its own


#: What a parameter that filters by a flag stands for; None asks for both.
FLAGS = {"false": False, "true": True, "any": None}

QUERIES_MAX = 20


def list_answers(page: type[Struct], more: Mapping[AnyFormat, str] = NO_MORE) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers with a page as JSON, or streams all in another format."""
    described = answers(page, 404, 406, 422, 503)
    streamed = [media_type for form, media_type in (*MEDIA_TYPES.items(), *more.items()) if form != "json"]
    described[200]["content"] |= {media_type: {"schema": {"type": "string"}} for media_type in streamed}
    return described


def _ids(given: Any) -> Any:
    """Take ids apart that are written with commas between; each counts once."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return given
    return list(dict.fromkeys(id_ for each in given for id_ in each.split(",") if id_))


def _few(ids: Sequence[str]) -> Sequence[str]:
    if len(ids) > QUERIES_MAX:
        raise ValueError(f"at most {QUERIES_MAX} queries; these are {len(ids)}")
    return ids


ALLOWED = "an RFC 3339 time such as 1987-02-23T07:35:35Z, or microseconds since 1970"


def instant_us(text: Any) -> int:
    """Return microseconds since 1970 UTC; a `ValueError` where it is neither RFC 3339 nor those, of 1980 to 9999."""
    # A + that was not written as %2B arrives as a space.
    for written in (text, "+".join(text.rsplit(" ", 1))) if isinstance(text, str) else ():
        if (instant_as_us := rfc_3339_us(written)) is not None:
            return instant_as_us
    if not re.fullmatch(r"\d{1,18}", str(text), re.ASCII):
        raise ValueError(ALLOWED)
    if int(text) < YEAR_1980_US:
        raise ValueError(f"{ALLOWED}, {FROM_1980_ON}")
    if int(text) > LAST_US:
        raise ValueError(f"{ALLOWED}, before the year 10000")
    return int(text)


Instant = Annotated[
    int,
    BeforeValidator(instant_us),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "format": "int64"}]}),
]
QueryIds = Annotated[list[Annotated[str, Field(max_length=LONGEST_NAME)]], BeforeValidator(_ids), AfterValidator(_few)]


HOW_WRITTEN = (
    "How the answer is written; left out, the header Accept decides. Only JSON has pages: the others stream everything "
    "that passes the filters, or `limit` of it, newest first."
)


class ListParameters(PageParameters):
    """Which page of a list, and how it is written."""

    format: Format | None = Field(None, description=HOW_WRITTEN)
    times: Times | None = Field(
        None,
        description="rfc3339: beside each time in microseconds, `..._us`, the same in RFC 3339, without `_us` in its "
        "name; us: the microseconds alone. Left out: rfc3339 in CSV, us in all others.",
    )


class QueryListParameters(ListParameters):
    """The same for what queries give."""

    query: QueryIds = Field(
        [],
        description=f"Only what is of these queries: repeated, or with commas between, at most {QUERIES_MAX}. "
        "The answer is 404 if there never was such a query.",
    )


class Order(NamedTuple):
    """An order of rows, the greatest first: what of a row it goes by, the place of a row, and places as cursors."""

    key: Callable[[Any], Any]
    place: Callable[[Any], Any]
    encode: Callable[[Any, Any], str]
    decode: Callable[[Any, str | None], Any]


NEWEST = Order(attrgetter("sequence"), attrgetter("sequence"), encode_cursor, decode_cursor)


@dataclass(frozen=True)
class Listing:
    """A kind of result: its name, how to read rows in order, the JSON text of one, its columns, and the order.

    `read` takes a connection, filters, the place that the rows lie behind (None: all), and how many.
    """

    name: Literal["matches", "episodes", "alerts", "dead-letters"]
    read: Callable[[Connection, Any, Any, int], Sequence[Any]]
    body: Callable[[Any], str]
    columns: Sequence[Column]
    order: Order = NEWEST
    more_formats: Mapping[AnyFormat, str] = field(default_factory=lambda: NO_MORE)

    def rows(
        self, connection: Connection, filters: Any, queries: Sequence[str], before: Any, limit: int
    ) -> Sequence[Any]:
        """Return rows of all `queries` in order; each by its own index, which one search for all would not use."""
        if not queries:
            return self.read(connection, filters, before, limit)
        each = [self.read(connection, replace(filters, query=query), before, limit) for query in queries]
        return sorted((row for rows in each for row in rows), key=self.order.key, reverse=True)[:limit]


def read_page(
    parameters: PageParameters,
    settings: AlertingSettings,
    filters: Any,
    read: Callable[[Any, int], Sequence[Any]],
    order: Order = NEWEST,
) -> tuple[Sequence[Any], str | None]:
    """Return the rows of the page and the cursor to the next; None on the last.

    Raises `Problem`: 422 when more items are requested than allowed, or the cursor is not one for these `filters`.
    """
    limit = page_limit(parameters.limit, settings.page_items, settings.page_items_max)
    rows = read(order.decode(filters, parameters.cursor), limit + 1)
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], order.encode(filters, order.place(rows[limit - 1]))


class Lists:
    """Answers lists over a database."""

    def __init__(self, engine: Engine, settings: AlertingSettings) -> None:
        self._engine, self._settings = engine, settings
        self._bounded = bounded(engine, settings.list_timeout_s)
        self._seats = Shares(settings.exports_max, "lists streamed in other formats than JSON (exports_max)")

    def answer(
        self,
        listing: Listing,
        wanted: ListParameters,
        filters: Any,
        accept: str | None,
        newest: Callable[[Connection], int] | None = None,
    ) -> Response:
        """Return a page, or the stream of all that passes `filters`; `newest` gives a page its last_event_id."""
        form = chosen_format(wanted.format, accept, listing.more_formats)
        queries = wanted.query if isinstance(wanted, QueryListParameters) else []
        with self._bounded.connect() as connection:
            unknown = unknown_queries(connection, queries)
            if unknown:
                raise Problem(404, f"query: there is no query {unknown[0][:100]!r}", {"Vary": "Accept"})
            if form == "json":
                return self._page(connection, listing, wanted, filters, queries, newest)
        before = listing.order.decode((filters, queries), wanted.cursor)
        times = wanted.times or ("rfc3339" if form == "csv" else "us")
        parts = self._parts(partial(listing.rows, filters=filters, queries=queries), listing, before, wanted.limit)
        return Export(FORMATS[form](parts, listing.columns, times), listing.name, form, self._seats)

    def _page(
        self,
        connection: Connection,
        listing: Listing,
        wanted: ListParameters,
        filters: Any,
        queries: Sequence[str],
        newest: Callable[[Connection], int] | None,
    ) -> Response:
        others = {} if newest is None else {"last_event_id": str(newest(connection))}  # before the rows: none is missed
        read = partial(listing.rows, connection, filters, queries)
        rows, more = read_page(wanted, self._settings, (filters, queries), read, listing.order)
        bodies = [body_with_times(listing.body(row), wanted.times or "us") for row in rows]
        page = json_page(bodies, next_cursor=more, **others)
        page.headers["Vary"] = "Accept"
        return page

    def _parts(
        self, read: Callable[..., Sequence[Any]], listing: Listing, before: Any, limit: int | None
    ) -> Iterator[list[str]]:
        """Yield JSON texts, some at a time: no transaction waits for a slow reader."""
        left = limit
        while left is None or left > 0:
            count = PART_ROWS if left is None else min(left, PART_ROWS)
            with self._engine.connect() as connection:
                rows = read(connection, before=before, limit=count)
            if rows:
                yield [listing.body(row) for row in rows]
            if len(rows) < count:
                return
            before, left = listing.order.place(rows[-1]), None if left is None else left - len(rows)


class Export(StreamingResponse):
    """A stream of results that is made as it is read; it takes one of the `seats`, or is refused if there is none."""

    def __init__(self, content: Iterator[bytes], name: str, form: AnyFormat, seats: Shares) -> None:
        suffix = f'attachment; filename="{name}.{form}"'
        headers = {"Vary": "Accept", **({} if form == "ndjson" else {"Content-Disposition": suffix})}
        super().__init__(content, headers=headers, media_type=(MEDIA_TYPES | MAP_MEDIA_TYPES)[form])
        self._seats = seats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        with self._seats.place(caller_in(scope).peer):
            await super().__call__(scope, receive, send)
