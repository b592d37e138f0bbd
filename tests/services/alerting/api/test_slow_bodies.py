"""Bodies that do not end, a thousand of one peer: they keep nobody else from asking and changing."""

import json

import pytest

from coincide import Histogram
from services.common.access.asgi import Guarded
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import query, sensor_record
from tests.services.slow_bodies import SLOW_BODIES, holding, post_of_another, serving

PATH = "/v1/queries/intruder/explain"
BODY = json.dumps(query()).encode()
MOST_OPEN = 20
CLOCK = Histogram.uniform(-1, 1)


@pytest.mark.anyio
async def test_a_thousand_slow_bodies_of_one_peer_keep_no_other_out(api: Api) -> None:
    api.sensors.replace([[sensor_record("geo", seismic=CLOCK), sensor_record("mic", acoustic=CLOCK)]])
    with serving(Guarded(api.client.app, api.access.guard, MOST_OPEN)) as port:
        async with holding(port, PATH, BODY, admitted=MOST_OPEN) as held:
            assert (await post_of_another(port, PATH, BODY)).status_code == 200
            assert len(held.answers) == SLOW_BODIES - MOST_OPEN
            assert all(each.startswith(b"HTTP/1.1 429 ") for each in held.answers)
            refused = "coincide_alerting_requests_refused_total", {"reason": "open_requests"}
            assert api.access.registry.get_sample_value(*refused) == SLOW_BODIES - MOST_OPEN
