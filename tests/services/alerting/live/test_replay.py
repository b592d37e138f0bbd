"""Many who catch up from the beginning: what is read for them at a time is bounded, and nobody else waits for them."""

import asyncio
import threading
from typing import Any

import httpx2
import pytest

from services.alerting.live import event_stream
from services.alerting.live.hub import LiveFilter
from services.alerting.store import match_blocks
from services.alerting.store.live_rows import (
    FEWEST_OF_EACH,
    PAGE_BLOCKS,
    PAGE_ROWS,
    RowFilters,
    StoredRow,
    read_page,
)
from services.alerting.store.match_rows import MatchFilter
from tests.services.alerting.clients import DEADLINE_S, Api, Live, eventually, is_open
from tests.services.alerting.sample_records import Database, episode_record, match_record

pytestmark = pytest.mark.anyio

READERS = 50
STORED = 100_000


class Pages:
    """The pages that were read: from where, and how many rows; reading waits while it is not `allowed`."""

    def __init__(self) -> None:
        self.begun_after: list[int] = []
        self.rows: list[int] = []
        self.at_once = self.most_at_once = 0
        self.allowed = threading.Event()
        self._lock = threading.Lock()

    def read(self, connection: Any, filters: Any, after: int, upto: int) -> tuple[list[StoredRow], int]:
        with self._lock:
            self.begun_after.append(after)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        assert self.allowed.wait(DEADLINE_S)
        try:
            page = read_page(connection, filters, after, upto)
            self.rows.append(len(page[0]))
            return page
        finally:
            with self._lock:
                self.at_once -= 1


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Pages:
    pages = Pages()
    monkeypatch.setattr(event_stream, "read_page", pages.read)
    return pages


@pytest.fixture
def full(database: Database) -> None:
    database.store([match_record("m-1")])
    database.multiply_match(STORED)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("live", [{"replays_max": 2}], indirect=True)
async def test_fifty_readers_from_the_beginning_do_not_starve_lists_and_live_readers(
    api: Api, live: Live, pages: Pages
) -> None:
    newcomer = await is_open(live.client())
    readers = [await is_open(live.client(after=0)) for _ in range(READERS)]
    await eventually(lambda: len(pages.begun_after) == 2 and len(live.hub.replays._waiters or ()) == READERS - 2)
    transport = httpx2.ASGITransport(api.client.app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=DEADLINE_S) as rest:
        # The replays stand still: whoever needed what they hold would wait for ever.
        lists = await asyncio.wait_for(asyncio.gather(*(rest.get("/v1/matches") for _ in range(10))), DEADLINE_S)
    assert [answer.status_code for answer in lists] == [200] * 10
    live.store("m-new")
    await newcomer.until(lambda c: c.ids == ["m-new"])
    assert len(pages.begun_after) == 2

    pages.allowed.set()
    for each in readers:
        await each.until(lambda c: len(c.ids) >= 2 * PAGE_ROWS)
    assert pages.most_at_once == 2
    assert max(pages.rows) == PAGE_ROWS
    # Each in its turn: nobody has two pages before all have one, but the last two may be noted in either order.
    assert pages.begun_after[: READERS + 1].count(0) == READERS
    assert all(each.ids[:3] == ["m-1", "m-2", "m-3"] for each in readers)
    assert live.database.count("live_rows_replayed_total") >= READERS * 2 * PAGE_ROWS


async def test_a_page_of_many_queries_and_kinds_is_no_longer_than_one_of_few(live: Live, pages: Pages) -> None:
    """Twenty queries of three kinds: what a page reads is a share of each, and the pages put together are whole."""
    queries = [f"q-{n}" for n in range(20)]
    kept = [live.store(f"m-{n}", query=queries[n % 20 if n % 3 else 0])[0].sequence for n in range(1_200)]
    live.store(*(episode_record(f"e-{n}", query="q-3") for n in range(400)))
    pages.allowed.set()
    reader = live.client(after=kept[9], filter_=LiveFilter(queries=tuple(queries), kind="all"))
    await reader.until(lambda c: len(c.said) == 1_190 + 400)
    assert [id_ for _, id_ in reader.said] == [f"m-{n}" for n in range(10, 1_200)] + [f"e-{n}" for n in range(400)]
    assert max(pages.rows) <= 60 * FEWEST_OF_EACH
    assert len(pages.rows) > 5


def test_a_page_ends_where_its_fullest_part_does(database: Database) -> None:
    stored = database.store([match_record(f"m-{n}", query="p" if n < 900 else "q") for n in range(1_000)])
    of_both = [RowFilters(matches=MatchFilter(query=query)) for query in "pq"]
    rows, until = database.read(read_page, of_both, 0, stored[-1].sequence)
    assert [row.id for row in rows] == [f"m-{n}" for n in range(PAGE_ROWS // 2)]
    assert until == rows[-1].sequence
    rows, until = database.read(read_page, of_both, stored[899].sequence, stored[-1].sequence)
    assert ([row.id for row in rows], until) == ([f"m-{n}" for n in range(900, 1_000)], stored[-1].sequence)


def test_a_page_goes_through_few_matches_however_few_pass_the_filters(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_blocks, "BLOCK_ROWS", 4)
    stored = [row for n in range(200) for row in database.store([match_record(f"m-{n}", query="pq"[n == 150])])]
    filters, newest = [RowFilters(matches=MatchFilter(query="q"))], stored[-1].sequence
    found: list[str] = []
    upto = pages = 0
    while upto < newest:
        rows, next_upto = database.read(read_page, filters, upto, newest)
        assert sum(upto < each.sequence <= next_upto for each in stored) <= 4 * PAGE_BLOCKS
        found, upto, pages = [*found, *(row.id for row in rows)], next_upto, pages + 1
    assert (found, upto, pages) == (["m-150"], newest, 4)
