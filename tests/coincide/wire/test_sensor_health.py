"""Records of sensors' health: who reads them computes with what they say, so that it must be of some size."""

import json
from typing import Any

import pytest

from coincide.wire.sensor_health import HealthError, HealthRecord, SensorHealth, health_in

HEARD = SensorHealth("geo", "seismic", 0, 5, 1.5, 0.0, None)
WRITTEN: dict[str, Any] = json.loads(HealthRecord("bay", 0, 5, [HEARD]).to_record())


def test_a_record_is_read_as_it_was_written() -> None:
    assert health_in(json.dumps(WRITTEN).encode()).sensors == [HEARD]


@pytest.mark.parametrize("name", ["since_us", "last_seen_us"])
@pytest.mark.parametrize("at_us", [10**400, 2**62, -(10**400)])
def test_a_time_that_no_clock_has_is_none(name: str, at_us: int) -> None:
    said = {**WRITTEN, "sensors": [{**WRITTEN["sensors"][0], name: at_us}]}
    with pytest.raises(HealthError):
        health_in(json.dumps(said).encode())
