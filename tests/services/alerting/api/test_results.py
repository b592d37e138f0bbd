import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from services.alerting.kafka.storing import Intake
from services.alerting.metrics import Metrics
from tests.services.alerting.line import Line, line
from tests.services.alerting.records import RECEIVED_AT_MS, TOPICS, dead_letter_record, match, match_record, record

Steps = Callable[[Line], Awaitable[None]]
Run = Callable[[Steps], None]


@pytest.fixture
def run(engine: Engine, intake: Intake, metrics: Metrics) -> Run:
    def run(steps: Steps) -> None:
        async def inside() -> None:
            async with line(engine, intake, metrics) as api:
                await steps(api)

        asyncio.run(inside())

    return run


def test_pages_hold_everything_once_although_matches_keep_coming(run: Run, intake: Intake) -> None:
    intake.store([match_record(f"m-{n:02}") for n in range(10)], [])

    async def steps(api: Line) -> None:
        ids: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await api.client.get("/v1/matches", params={"limit": "3", "sensor": "imb", **cursor})).json()
            ids += [item["id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
            await asyncio.to_thread(intake.store, [match_record(f"new-{len(ids)}")], [])
        assert ids == [f"m-{n:02}" for n in reversed(range(10))]

    run(steps)


def test_a_full_last_page_has_no_cursor(run: Run, intake: Intake) -> None:
    intake.store([match_record(f"m-{n}") for n in range(3)], [])

    async def steps(api: Line) -> None:
        page = (await api.client.get("/v1/matches")).json()
        assert len(page["items"]) == 3  # page_items
        assert page["next_cursor"] is None

    run(steps)


def test_a_match_is_served_as_it_was_written(run: Run, intake: Intake) -> None:
    stored = intake.store([match_record("m-1")], [])

    async def steps(api: Line) -> None:
        assert (await api.client.get("/v1/matches/m-1")).json() == match("m-1")
        page = (await api.client.get("/v1/matches")).json()
        assert page["items"] == [match("m-1")]
        assert page["last_event_id"] == str(stored[-1].sequence)
        missing = await api.client.get("/v1/matches/m-2")
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")

    run(steps)


def test_live_matches_are_shown_and_superseded_ones_where_asked_for(run: Run, intake: Intake) -> None:
    pair = match("m-2", edges=[{"between": ["a", "b"], "probability": 0.5}], supersedes=[])
    triple = match("m-3", sensors=("imb", "baksan", "kamiokande-ii"), supersedes=["m-2"], occurred=None)
    intake.store([record(TOPICS.matches, each) for each in (pair, triple)], [])
    taken_back = {**pair, "superseded_by": "m-3"}

    async def steps(api: Line) -> None:
        async def items(**filters: str) -> list[dict[str, Any]]:
            served: list[dict[str, Any]] = (await api.client.get("/v1/matches", params=filters)).json()["items"]
            return served

        assert await items() == await items(superseded="false") == [triple]
        assert await items(superseded="true") == [taken_back]
        assert await items(superseded="any") == [triple, taken_back]
        assert await items(sensor="kamiokande-ii") == [triple]
        assert (await api.client.get("/v1/matches/m-2")).json() == taken_back
        assert (await api.client.get("/v1/matches/m-3")).json() == triple

    run(steps)


def test_a_match_superseded_between_two_pages_is_left_out(run: Run, intake: Intake) -> None:
    intake.store([match_record(f"m-{n}") for n in range(3)], [])

    async def steps(api: Line) -> None:
        first = (await api.client.get("/v1/matches?limit=1")).json()
        await asyncio.to_thread(intake.store, [match_record("m-9", supersedes=["m-1"])], [])
        rest = (await api.client.get("/v1/matches", params={"cursor": first["next_cursor"]})).json()
        assert [item["id"] for item in rest["items"]] == ["m-0"]

    run(steps)


def test_times_overlap_with_closed_ends(run: Run, intake: Intake) -> None:
    at_us = 541_064_135_000_000  # 1987-02-23T07:35:35Z
    intake.store([match_record("m-1", earliest_us=at_us, latest_us=at_us + 2_000_000)], [])

    async def found(api: Line, **times: str) -> int:
        return len((await api.client.get("/v1/matches", params=times)).json()["items"])

    async def steps(api: Line) -> None:
        assert await found(api, **{"from": "1987-02-23T07:35:37Z"}) == 1
        assert await found(api, **{"from": "1987-02-23T07:35:37.000001Z"}) == 0
        assert await found(api, to="1987-02-23T16:35:35+09:00") == 1
        assert await found(api, to=str(at_us - 1)) == 0

    run(steps)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/v1/matches?limit=0", "limit"),
        ("/v1/matches?limit=51", "limit: is 51: from 1 to 50"),
        ("/v1/matches?limit=x", "limit"),
        ("/v1/matches?min_probability=1.1", "min_probability"),
        ("/v1/matches?min_probability=nan", "min_probability"),
        ("/v1/matches?from=1987", "from"),
        ("/v1/matches?superseded=yes", "superseded"),
        ("/v1/matches?cursor=abc", "cursor"),
        ("/v1/matches?sensr=imb", "sensr"),
        ("/v1/dead-letters?cursor=abc", "cursor"),
        ("/v1/dead-letters?min_probability=1", "min_probability"),
        ("/v1/dead-letters?to=tomorrow", "to"),
    ],
)
def test_bad_parameters_are_named(run: Run, path: str, named: str) -> None:
    async def steps(api: Line) -> None:
        response = await api.client.get(path)
        assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")
        assert named in response.json()["detail"]

    run(steps)


def test_a_cursor_belongs_to_its_filters(run: Run, intake: Intake) -> None:
    intake.store([match_record(f"m-{n}") for n in range(5)], [])

    async def steps(api: Line) -> None:
        cursor = (await api.client.get("/v1/matches?limit=2")).json()["next_cursor"]
        assert (await api.client.get("/v1/matches", params={"cursor": cursor})).status_code == 200
        other = await api.client.get("/v1/matches", params={"cursor": cursor, "area": "bay"})
        assert other.status_code == 422

    run(steps)


def test_dead_letters_by_what_they_say(run: Run, intake: Intake) -> None:
    intake.store(
        [
            dead_letter_record("d-1", source="ingest", reason="unknown_sensor", area=None, sensor="s9"),
            dead_letter_record("d-2", area="bay", timestamp=RECEIVED_AT_MS + 1),
            dead_letter_record("d-3", area="ridge"),
        ],
        [],
    )

    async def steps(api: Line) -> None:
        async def ids(**filters: str) -> list[str]:
            page = (await api.client.get("/v1/dead-letters", params=filters)).json()
            return [item["dead_id"] for item in page["items"]]

        assert await ids() == ["d-3", "d-2", "d-1"]
        assert await ids(source="ingest") == ["d-1"]
        assert await ids(reason="late", area="bay") == ["d-2"]
        assert await ids(sensor="s9") == ["d-1"]
        assert await ids(to=str(RECEIVED_AT_MS * 1000)) == ["d-3", "d-1"]
        assert await ids(**{"from": str(RECEIVED_AT_MS * 1000 + 1)}) == ["d-2"]
        first = (await api.client.get("/v1/dead-letters", params={"limit": "2"})).json()
        rest = (await api.client.get("/v1/dead-letters", params={"cursor": first["next_cursor"]})).json()
        assert [item["dead_id"] for item in rest["items"]] == ["d-1"]

    run(steps)


def test_the_openapi_document_refers_only_to_what_it_holds(run: Run) -> None:
    async def steps(api: Line) -> None:
        text = json.dumps(api.app.openapi())
        named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
        assert named == set(json.loads(text)["components"]["schemas"])

    run(steps)
