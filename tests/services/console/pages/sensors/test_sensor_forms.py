"""What the form of a sensor is filled with."""

from services.console.pages.sensors.sensor_view import declared_streams
from services.console.pages.sensors.template_field import is_beside_clock
from services.console.rest.documents import SensorAnswer


def test_a_sensor_is_changed_as_it_was_declared_by_names_and_beside_its_clock() -> None:
    plain = SensorAnswer(id="a", area="bay", streams={"noise": "t-1", "light": "t-2"}, templates={"noise": "cable"})
    assert declared_streams(plain) == {"noise": "cable", "light": "t-2"}
    beside: dict[str, dict[str, str | None]] = {
        "noise": {"own": "cable", "template": None},
        "light": {"own": "t-4", "template": "t-5"},
    }
    on_clock = SensorAnswer(id="a", area="bay", streams={"noise": "t-3"}, clock="gw-7", beside_clock=beside)
    assert declared_streams(on_clock) == {"noise": {"own": "cable"}, "light": {"own": "t-4", "template": "t-5"}}
    assert [is_beside_clock(each) for each in ({"own": "cable"}, {"point": True}, ["own"], "own")] == [
        True,
        *3 * [False],
    ]
