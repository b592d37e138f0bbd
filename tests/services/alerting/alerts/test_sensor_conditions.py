"""System alerts about sensors: who is silent or late, whose template drifts; few alerts for many sensors."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine

from coincide import Histogram
from coincide.clocks import Clock
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.sensor_health import HealthRecord, SensorHealth, TemplateDrift
from services.alerting.alerts.sensor_conditions import SLICE, in_words
from services.alerting.records.receiver import Receiver, Receivers, WebhookWay
from services.common.log.records import Record
from tests.services.alerting.sample_records import RECEIVED_AT_MS, Database, record, sensor_record, silence

DAY_S, HOUR_S = 86_400, 3_600
TEMPLATE = Histogram.uniform(-1, 1)
SILENT = {"source": "sensor_silent"}


def health(
    sensor: str, seen_us: int, *, rate_hz: float | None = 0.1, late: float = 0.0, drift: Any = None
) -> SensorHealth:
    return SensorHealth(sensor, "p", seen_us - HOUR_S * 1_000_000, seen_us, rate_hz, late, drift)


class Sensors:
    """The sensors of one area, by the database's clock; batches of fusion follow each other while time goes on."""

    def __init__(self, database: Database, *names: str, area: str = "bay", **said: Any) -> None:
        self.database, self.area, self.heard = database, area, dict[str, SensorHealth]()
        conditions = database.conditions.sensors
        self.board, self.registered = conditions.heard, conditions.registered
        if not self.registered.is_caught_up:
            self.board.replace([])
            self.registered.replace([])
            database.conditions.note_status(database.now_us / 1e6)
        self.register(names, **said)
        self.seen(*names)

    def register(self, names: Sequence[str], **said: Any) -> None:
        self.registered.apply([sensor_record(name, self.area, said=Particulars(**said), p=TEMPLATE) for name in names])

    def seen(self, *names: str, **said: Any) -> None:
        """They are heard now."""
        self.heard |= {name: health(name, self.database.now_us, **said) for name in names}
        told = HealthRecord(self.area, 0, self.database.now_us, list(self.heard.values()))
        self.board.apply([_as_record(told)])

    def wait(self, for_s: float, *, listens: bool = True) -> None:
        """Let time pass; fusion ends a batch every 20 s, for the heartbeats."""
        until_us = self.database.now_us + round(for_s * 1e6)
        while self.database.now_us < until_us:
            step_s = 20 if listens else for_s
            self.database.now_us += round(step_s * 1e6)
            if listens:
                self.database.conditions.note_status(self.database.now_us / 1e6)
        self.database.sweep()

    @property
    def states(self) -> dict[str, str]:
        """The state of each alert, by the sensor it is about, or else by its title."""
        return {
            each["labels"].get("sensor", each["title"]): each["state"] for each in self.database.alerts(kind="system")
        }


def _as_record(told: HealthRecord) -> Record:
    return record("coincide.sensor-health", told.to_record(), key=told.key)


def test_a_sensor_is_silent_after_the_time_that_it_declares_and_until_it_is_heard_again(database: Database) -> None:
    sensors = Sensors(database, "a", "b", "c", expect_every_s=60)
    sensors.wait(60)
    assert sensors.states == {}
    sensors.seen("b", "c")
    sensors.wait(40)
    assert sensors.states == {"a": "firing"}
    [alert] = database.alerts()
    assert alert["title"] == "The sensor a is silent"
    assert alert["text"].startswith("Nothing has come from a in bay since 20")
    assert alert["text"].endswith("It is declared to report every 60 s.")
    assert alert["docs"].endswith("#sensor-silent")
    for _ in range(4):
        sensors.seen("a", "b", "c")
        sensors.wait(20)
        assert sensors.states == {"a": "firing"}  # it must be heard for as long as it may be silent
    sensors.seen("a", "b", "c")
    sensors.wait(40)
    assert sensors.states == {"a": "resolved"}
    assert database.history(alert["id"]) == ["firing", "resolved"]


def test_a_sensor_that_comes_and_goes_rings_once(database: Database) -> None:
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    for _ in range(20):
        sensors.seen("a")
        for _ in range(5):
            sensors.seen("b")
            sensors.wait(20)
    assert sensors.states == {"a": "firing"}
    assert database.history(database.alerts()[0]["id"]) == ["firing"]


def test_under_a_silence_it_rings_nobody_however_often_it_comes_and_goes(database: Database) -> None:
    database.receivers = database.raising.receivers = Receivers(
        [Receiver(id="ops", webhook=WebhookWay(url="http://127.0.0.1:9/"))]
    )
    database.store([silence(until_us=database.now_us + HOUR_S * 1_000_000, sensor="a")])
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    for _ in range(4):
        for at in range(20):
            sensors.seen(*("b" if at > 8 else "ab"))
            sensors.wait(20)
    assert database.outbox() == []
    while database.now_us < RECEIVED_AT_MS * 1000 + (HOUR_S + 60) * 1_000_000:
        sensors.seen("b")
        sensors.wait(20)
    assert database.outbox() == [("firing", "The sensor a is silent")]  # once, when the silence has ended


def test_without_a_declared_time_a_day_and_thirty_usual_gaps_must_pass(database: Database) -> None:
    sensors = Sensors(database, "often", "seldom", "hardly")
    sensors.seen("seldom", rate_hz=1 / (2 * HOUR_S))
    sensors.seen("hardly", rate_hz=None)
    sensors.wait(DAY_S - 100)
    assert sensors.states == {}
    sensors.wait(200)
    assert sensors.states == {"often": "firing"}  # of the two others nobody knows what is usual
    assert "24 h, which its rate" in database.alerts()[0]["text"]


def test_one_that_was_never_heard_is_silent_if_it_should_have_been(database: Database) -> None:
    sensors = Sensors(database, "other")
    sensors.register(["new"], expect_every_s=100)
    sensors.register(["free"])
    sensors.wait(100)
    assert sensors.states == {}
    sensors.wait(60)
    assert sensors.states == {"new": "firing"}
    assert "Nothing has ever come from new" in database.alerts()[0]["text"]
    sensors.registered.apply([record("coincide.sensors", None, key=b"new")])
    sensors.wait(20)
    assert sensors.states == {"new": "resolved"}


def test_nobody_is_silent_while_nobody_listens_nor_just_after(database: Database) -> None:
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    sensors.wait(20)
    sensors.wait(DAY_S, listens=False)
    assert sensors.states == {}
    sensors.wait(60)
    assert sensors.states == {}
    sensors.seen("b")
    sensors.wait(60)
    assert sensors.states == {"a": "firing"}
    sensors.wait(HOUR_S, listens=False)
    sensors.seen("b")
    sensors.wait(20)
    assert sensors.states == {"a": "firing"}  # still: nothing has come from it


def test_a_restart_of_alerting_neither_resolves_nor_repeats(database: Database) -> None:
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    sensors.wait(60)
    sensors.seen("b")
    sensors.wait(40)
    assert sensors.states == {"a": "firing"}
    later = Database(database.engine)
    later.now_us = database.now_us + 5_000_000
    later.sweep()
    assert [each["state"] for each in later.alerts()] == ["firing"]
    again = Sensors(later, expect_every_s=60)
    again.heard = dict(sensors.heard)
    again.register(["a", "b"], expect_every_s=60)
    again.seen("b")
    again.wait(40)
    assert again.states == {"a": "firing"}
    assert later.history(later.alerts()[0]["id"]) == ["firing"]


def test_a_database_made_anew_tells_nobody_again_of_a_silent_sensor(database: Database, another_engine: Engine) -> None:
    ops = Receivers([Receiver(id="ops", webhook=WebhookWay(url="http://127.0.0.1:9/"))])
    database.receivers = database.raising.receivers = ops
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    for heard in [*"bbbbb", *["ab"] * 5, *"bbbbb"]:
        sensors.seen(*heard)
        sensors.wait(20)
    assert [change for change, _ in database.outbox()] == ["firing", "resolved", "reopened"]
    again = Database(another_engine)
    again.now_us, again.receivers, again.raising.receivers = database.now_us, ops, ops
    again.store(database.delivered("ops"))
    later = Sensors(again)
    later.heard = dict(sensors.heard)
    later.register(["a", "b"], expect_every_s=60)
    for _ in range(6):
        later.seen("b")
        later.wait(20)
    assert later.states == {"a": "firing"}
    assert again.outbox() == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"late": 0.6}, {"late": 0.0}),
        ({"drift": TemplateDrift("t-0123456789abcdef", 200, 0.5, 1e-14, [200])}, {}),
    ],
    ids=["late", "drifted"],
)
def test_a_database_made_anew_tells_nobody_again_who_is_late_or_drifts(
    database: Database, another_engine: Engine, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    ops = Receivers([Receiver(id="ops", webhook=WebhookWay(url="http://127.0.0.1:9/"))])
    database.receivers = database.raising.receivers = ops
    sensors = Sensors(database, *"abcdefg")
    for said in (wrong, right, wrong):
        sensors.seen(*"abcdefg", **said)
        sensors.wait(20)
    assert [change for change, _ in database.outbox()].count("reopened") == 6  # five singly, and one for the others
    again = Database(another_engine)
    again.now_us, again.receivers, again.raising.receivers = database.now_us, ops, ops
    again.store(database.delivered("ops"))
    later = Sensors(again, *"abcdefg")
    later.wait(20)
    later.seen(*"abcdefg", **wrong)
    later.wait(20)
    assert set(later.states.values()) == {"firing"}
    assert len(later.states) == 6
    assert again.outbox() == []
    for said, told in ((right, "resolved"), (wrong, "reopened")):
        later.seen(*"abcdefg", **said)
        later.wait(20)
        assert [change for change, _ in again.outbox()] == [told] * 6
        again.store(again.delivered("ops"))


def test_a_silent_area_has_one_alert_in_place_of_its_sensors(database: Database) -> None:
    sensors = Sensors(database, "a", "b", "c", expect_every_s=60)
    sensors.wait(60)
    sensors.seen("b", "c")
    sensors.wait(40)
    assert sensors.states == {"a": "firing"}
    sensors.wait(60)
    assert sensors.states == {"a": "resolved", "The area bay is silent": "firing"}
    assert {each["resolved_because"] for each in database.alerts(state="resolved")} == {
        "its whole area is silent, which has an alert of its own"
    }
    assert "All 3 sensors" in database.alerts(state="firing")[0]["text"]
    for _ in range(5):
        sensors.seen("a", "b", "c")
        sensors.wait(20)
    assert set(sensors.states.values()) == {"resolved"}


def test_many_silent_sensors_of_an_area_are_five_alerts_and_a_summary(database: Database) -> None:
    names = [f"s{nth:04d}" for nth in range(2 * SLICE + 10)]
    sensors = Sensors(database, *names, expect_every_s=60)
    sensors.wait(60)
    sensors.seen("s0000")
    sensors.wait(40)
    for _ in range(6):  # a slice at a time, and again
        sensors.seen("s0000")
        sensors.wait(20)
    firing = database.alerts(state="firing")
    assert len(firing) == 6
    [summary] = [each for each in firing if not each["labels"]]
    assert summary["title"] == "More than 5 sensors of bay are silent"
    assert summary["text"].startswith("Besides those that have alerts of their own: s")
    assert summary["text"].count(", ") == 10
    for _ in range(20):
        sensors.seen(*names)
        sensors.wait(20)
    assert set(sensors.states.values()) == {"resolved"}


def test_many_silent_areas_are_twenty_alerts_and_one_for_the_rest(database: Database) -> None:
    areas = [Sensors(database, f"{nth}-a", f"{nth}-b", area=f"area-{nth:03}", expect_every_s=60) for nth in range(100)]
    for _ in range(3):
        areas[0].wait(60)
    firing = database.alerts(state="firing")
    assert len(firing) == 21
    [rest] = [each for each in firing if not each["area"]]
    assert rest["title"] == "All sensors are silent in more than 20 areas"
    assert rest["text"].count("area-") == 10


def test_a_sensor_whose_reports_come_too_late_rings_until_few_do(database: Database) -> None:
    sensors = Sensors(database, "a", "b")
    sensors.seen("a", late=0.5)
    sensors.wait(20)
    assert sensors.states == {}
    sensors.seen("a", late=0.6)
    sensors.wait(20)
    [alert] = database.alerts()
    assert (alert["title"], alert["labels"]) == ("The sensor a reports too late", {"sensor": "a", "stream": "p"})
    assert alert["text"].startswith("60 % of its recent detections on p ")
    sensors.seen("a", late=0.4)
    sensors.wait(20)
    assert sensors.states == {"a": "firing"}
    sensors.seen("a", late=0.2)
    sensors.wait(20)
    assert sensors.states == {"a": "resolved"}
    sensors.seen("b", late=1.0, rate_hz=0.001)
    sensors.wait(20)
    assert sensors.states == {"a": "resolved"}  # three reports say little


def drift(
    distance: float, p_value: float, errors: int = 200, spread: float = 1.0, spread_p_value: float = 1.0
) -> TemplateDrift:
    return TemplateDrift("t-0123456789abcdef", errors, distance, p_value, [errors], spread, spread_p_value)


def wide(spread: float, p_value: float, errors: int = 200) -> TemplateDrift:
    return drift(0.05, 0.5, errors, spread, p_value)


@pytest.mark.parametrize(
    ("shown", "rings"),
    [
        (drift(0.5, 1e-14), True),
        (drift(0.05, 1e-14), False),  # certain, but it matters to nobody
        (drift(0.2, 1e-4), False),  # by chance with so many looks
        (drift(0.5, 1e-14, errors=50), False),
    ],
)
def test_a_template_that_no_longer_fits_rings(database: Database, shown: TemplateDrift, rings: bool) -> None:
    sensors = Sensors(database, "a", "b")
    sensors.seen("a", drift=shown)
    sensors.wait(20)
    assert sensors.states == ({"a": "firing"} if rings else {})
    if rings:
        assert "200 errors on p are 0.50 from the template" in database.alerts()[0]["text"]
        sensors.seen("a", drift=drift(0.08, 1e-3))
        sensors.wait(20)
        assert sensors.states == {"a": "resolved"}


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (wide(1.5, 1e-9), "are 1.5 times as wide as the template says. So its matches are told as more probable"),
        (wide(0.67, 1e-9), "are 0.67 times as wide as the template says. So its matches are told as less probable"),
        (wide(1.2, 1e-14), None),  # certain, but it matters to nobody
        (wide(0.85, 1e-14), None),
        (wide(1.5, 1e-7), None),  # by chance with so many looks
        (wide(1.5, 1e-14, errors=50), None),
        (drift(0.5, 1e-14, spread=2.0, spread_p_value=1e-14), "0.50 from the template at worst"),
    ],
)
def test_errors_wider_or_narrower_than_a_template_ring(
    database: Database, shown: TemplateDrift, words: str | None
) -> None:
    sensors = Sensors(database, "a", "b")
    sensors.seen("a", drift=shown)
    sensors.wait(20)
    assert sensors.states == ({} if words is None else {"a": "firing"})
    if words is not None:
        assert words in database.alerts()[0]["text"]
        sensors.seen("a", drift=wide(1.2, 1e-3))
        sensors.wait(20)
        assert sensors.states == {"a": "resolved"}


def on_gateway(sensors: Sensors, *names: str) -> None:
    """Let sensors be on one clock."""
    template = Clock("gw-7", Histogram.uniform(-30, 30)).template(TEMPLATE)
    sensors.registered.apply([sensor_record(name, "bay", said=Particulars(), p=template) for name in names])


def test_a_clock_that_is_off_rings_once_and_its_sensors_do_not(database: Database) -> None:
    sensors = Sensors(database, "a", "b", "c", "d")
    on_gateway(sensors, "a", "b", "c")
    off = drift(0.5, 1e-14)
    sensors.seen("a", "b", "d", drift=off)
    sensors.wait(20)
    assert sensors.states == {"The clock gw-7 is off": "firing", "d": "firing"}
    [told] = [each for each in database.alerts() if "clock" in each["labels"]]
    assert "by what others say: a, b." in told["text"]
    sensors.seen("a", "b", drift=drift(0.2, 1e-4))  # no longer certain, but it was told
    sensors.wait(20)
    assert sensors.states == {"The clock gw-7 is off": "firing", "d": "firing"}
    sensors.seen("a", "b", "d", drift=drift(0.05, 0.5))
    sensors.wait(20)
    assert sensors.states == {"The clock gw-7 is off": "resolved", "d": "resolved"}


def test_where_one_on_the_clock_is_right_the_others_ring_themselves(database: Database) -> None:
    sensors = Sensors(database, "a", "b", "c")
    on_gateway(sensors, "a", "b", "c")
    sensors.seen("a", "b", drift=drift(0.5, 1e-14))
    sensors.seen("c", drift=drift(0.05, 0.5))
    sensors.wait(20)
    assert sensors.states == {"a": "firing", "b": "firing"}
    sensors.seen("b", drift=drift(0.05, 0.5))
    sensors.wait(20)
    assert sensors.states == {"a": "firing", "b": "resolved"}


def test_a_silence_names_a_sensor(database: Database) -> None:
    database.store([silence(sensor="a")])
    sensors = Sensors(database, "a", "b", expect_every_s=60)
    sensors.wait(60)
    sensors.seen("b")
    sensors.wait(40)
    [alert] = database.alerts()
    assert (alert["state"], alert["withheld"]) == ("firing", "silence")


@pytest.mark.parametrize(
    ("seconds", "words"), [(16, "16 s"), (90, "90 s"), (300, "5 min"), (10_800, "3 h"), (172_800, "2 days")]
)
def test_durations_are_rounded_for_people(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_how_many_are_silent_is_a_metric_by_area_and_absent_while_nobody_listens(database: Database) -> None:
    bay = Sensors(database, "a", "b", "c", expect_every_s=60)
    Sensors(database, "d", area="hill", expect_every_s=60)
    bay.wait(60)
    assert [database.count("silent_sensors", area=area) for area in ("bay", "hill", "")] == [0, 0, 0]
    bay.seen("b", "c")
    bay.wait(40)
    assert [database.count("silent_sensors", area=area) for area in ("bay", "hill", "")] == [1, 1, 0]
    bay.wait(61, listens=False)
    assert not any(database.knows("silent_sensors", area=area) for area in ("bay", "hill", ""))
