"""What the page asks for, to say what happened last in each area."""

import asyncio
from typing import Any

import httpx2

from services.console.pages.now.story import ASKED_BY_NAME, LOOKED_AT, read_last
from tests.services.console.rest.test_services import rest


def test_an_area_where_it_was_long_ago_is_asked_for_by_name() -> None:
    """More than the newest of all have come since 1987 in a harbour."""
    newest = [{"id": f"e{nth}", "query": "bang", "area": "harbour"} for nth in range(LOOKED_AT)]
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        area = request.url.params.get("area")
        asked.append(area)
        items: list[Any] = newest if area is None else [{"id": "old", "query": "q", "area": area}]
        is_of_episodes = request.url.path == "/v1/episodes"
        return httpx2.Response(200, json={"items": items if is_of_episodes else []})

    episodes, matches = asyncio.run(read_last(rest(answer), ["harbour", "sn1987a"]))
    assert [each.id for each in episodes if each.area == "sn1987a"] == ["old"]
    assert len(episodes) == LOOKED_AT + 1
    assert matches == []
    assert asked.count("harbour") == 0
    asyncio.run(read_last(rest(answer), [f"area-{nth}" for nth in range(100)]))
    assert len({each for each in asked if each and each.startswith("area-")}) == ASKED_BY_NAME
