"""Pages count from when they are asked for, and those that no browser connects to are forgotten."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.common.http.shares import NoPlaceError
from services.console.pages import open_pages
from services.console.pages.open_pages import OpenPages


class Page:
    """As much of NiceGUI's client as counts."""

    def __init__(self, id_: str) -> None:
        self.id, self.is_deleted = id_, False
        self.connect: list[Callable[[], Any]] = []
        self.gone: list[Callable[[], Any]] = []
        self.on_connect, self.on_delete = self.connect.append, self.gone.append

    def delete(self) -> None:
        assert not self.is_deleted
        self.is_deleted = True
        for each in self.gone:
            each()


def opened(pages: OpenPages, id_: str, peer: str) -> Page:
    page = Page(id_)
    pages.add(page, peer)  # type: ignore[arg-type]
    return page


def test_pages_without_a_browser_count_and_one_person_has_half() -> None:
    pages = OpenPages(4)
    first, _ = opened(pages, "1", "ann"), opened(pages, "2", "ann")
    with pytest.raises(NoPlaceError, match="2 of 4 pages open"):
        opened(pages, "3", "ann")
    opened(pages, "4", "ben")
    first.delete()
    opened(pages, "5", "ann")
    opened(pages, "6", "eve")
    with pytest.raises(NoPlaceError, match="there are 4 pages open"):
        opened(pages, "7", "joe")


@pytest.mark.anyio
async def test_a_page_is_forgotten_unless_a_browser_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "CONNECTED_WITHIN_S", 0.0)
    pages = OpenPages(8)
    silent, connected, closed = (opened(pages, id_, "ann") for id_ in ("silent", "connected", "closed"))
    connected.connect[0]()
    closed.connect[0]()
    closed.delete()
    for each in (silent, connected, closed):
        pages.await_browser(each)  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    assert (silent.is_deleted, connected.is_deleted, len(pages)) == (True, False, 1)
