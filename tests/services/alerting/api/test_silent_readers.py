"""Live streams of one peer, hundreds of them: they take their share, and nobody else waits for that."""

import asyncio

import httpx2
import pytest

from services.common.access.asgi import Guarded
from tests.services.alerting.clients import Api
from tests.services.slow_bodies import DEADLINE_S, serving

STREAMS, MOST_OPEN = 300, 20
ASKED = b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.anyio
async def test_many_live_streams_of_one_peer_keep_no_other_waiting(api: Api) -> None:
    with serving(Guarded(api.client.app, api.access.guard, MOST_OPEN)) as port:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(STREAMS)]
        for _, writer in opened:
            writer.write(ASKED)
        async with asyncio.timeout(DEADLINE_S):
            heads = [await reader.readline() for reader, _ in opened]
        assert sorted({head[9:12]: heads.count(head) for head in heads}.items()) == [
            (b"200", MOST_OPEN),
            (b"429", STREAMS - MOST_OPEN),
        ]
        transport = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx2.AsyncClient(transport=transport, timeout=DEADLINE_S) as another:
            assert (await another.get(f"http://127.0.0.1:{port}/v1/matches")).status_code == 200
        for _, writer in opened:
            writer.close()
