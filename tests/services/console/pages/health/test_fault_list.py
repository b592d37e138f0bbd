"""The law of what is wrong now, case by case: readings as they come, and the sentences that have to follow."""

from collections.abc import Mapping
from typing import Any

import pytest

from deploy.host.machine import ROOT
from services.console.pages.health.fault_list import STATIONS, HealthFault, faults_of
from services.console.pages.health.stations import BESIDE, LINE, quantile, quiet_s
from services.console.rest.component_readings import ComponentReading, ComponentTrend, Samples
from services.console.rest.documents import AlertAnswer
from services.console.rest.line_watch import WANTED, LineReading
from services.console.rest.services import Service

NOW_S = 2_000_000.0
FUSION = {
    "coincide_fusion_kafka_up": 1,
    "coincide_fusion_last_batch_timestamp_seconds": NOW_S - 1,
    'coincide_fusion_lag_records{topic="coincide.detections"}': 0,
    "coincide_fusion_detections_total": 1000,
    "coincide_fusion_late_total": 0,
    "coincide_fusion_evicted_total": 0,
}
INGEST = {"coincide_ingest_posts_total": 5}
ALERTING = {"coincide_alerting_kafka_up": 1}
WELL: dict[Service, Mapping[str, float]] = {"ingest": INGEST, "fusion": FUSION, "alerting": ALERTING}
WAITING = {"coincide_forwarding_waiting_records": 12}
LAG = 'coincide_fusion_lag_records{topic="coincide.detections"}'
LAST_BATCH = "coincide_fusion_last_batch_timestamp_seconds"
AWAY = "{} does not answer (nobody listens there)"
ALL_AWAY: dict[str, Any] = {name: AWAY.format(name) for name in WELL}


def samples(values: Mapping[str, float]) -> Samples:
    return Samples.of_text("".join(f"{name} {value}\n" for name, value in values.items()), WANTED)


def trend(before: Mapping[str, float], now: Mapping[str, float] | str, not_ready: str | None = None) -> ComponentTrend:
    """Return two looks, 100 s apart; a text says why nobody answered the second."""
    first = ComponentReading(0.0, is_ready=True, samples=samples(before))
    if isinstance(now, str):
        return ComponentTrend([first, ComponentReading(100.0, why_away=now)])
    last = ComponentReading(100.0, not_ready is None, None, not_ready, samples({**before, **now}))
    return ComponentTrend([first, last])


def reading(
    *alerts: AlertAnswer, not_ready: dict[str, str] | None = None, before: dict[str, float] | None = None, **now: Any
) -> LineReading:
    """Return a line that is well but for what is said of single components."""
    trends: dict[Service, ComponentTrend] = {
        name: trend(
            {**values, **((before or {}) if name == "fusion" else {})}, now.get(name, {}), (not_ready or {}).get(name)
        )
        for name, values in WELL.items()
    }
    return LineReading(trends, alerts, NOW_S)


def alert(source: str, title: str = "It is so", text: str | None = "Because. ") -> AlertAnswer:
    return AlertAnswer(
        id="a", title=title, severity="warning", state="firing", fired_at_us=0, kind="system", source=source, text=text
    )


def sentences(line: LineReading) -> list[tuple[str, str]]:
    return [(fault.station, fault.sentence) for fault in faults_of(line)]


CASES: dict[str, tuple[LineReading, list[tuple[str, str]]]] = {
    "nothing": (reading(), []),
    "nothing was looked at yet": (LineReading(), []),
    "ingest is away": (
        reading(ingest=AWAY.format("ingest")),
        [("ingest", "Ingest does not answer (nobody listens there): no detection is taken.")],
    ),
    "all are away, from upstream to downstream": (
        reading(**ALL_AWAY),
        [
            ("ingest", "Ingest does not answer (nobody listens there): no detection is taken."),
            ("fusion", "Fusion does not answer (nobody listens there): no match is found meanwhile."),
            (
                "alerting",
                "Alerting does not answer (nobody listens there): nobody is told, no alert can be seen, and queries "
                "cannot be changed.",
            ),
        ],
    ),
    "ingest says why it is not ready": (
        reading(not_ready={"ingest": "the streams have not been read yet"}),
        [("ingest", "Ingest is not ready: the streams have not been read yet.")],
    ),
    "Kafka is the reason that others are not ready": (
        reading(
            not_ready={"ingest": "Kafka does not answer", "fusion": "the query ended", "alerting": "Kafka is silent"},
            fusion={"coincide_fusion_kafka_up": 0},
        ),
        [("detections", "Kafka does not answer: nothing is handed on.")],
    ),
    "what a component says of itself is told as it says it": (
        reading(fusion={LAG: 3400}, not_ready={"fusion": "no sign of life for 120 s"}),
        [("fusion", "Fusion is not ready: no sign of life for 120 s.")],
    ),
    "numbers alone are judged by alerting, and not here": (
        reading(before={LAG: 4000}, fusion={LAG: 12_345, "coincide_fusion_late_total": 900}),
        [],
    ),
    "what alerts tell comes where it belongs": (
        reading(alert("query_suspended"), alert("sensor_silent", "The sensor mic-1 is silent", None)),
        [("gateways", "The sensor mic-1 is silent."), ("fusion", "It is so: Because.")],
    ),
    "an alert that has its cause beside it is not told": (
        reading(alert("line_stalled"), fusion=AWAY.format("fusion")),
        [("fusion", "Fusion does not answer (nobody listens there): no match is found meanwhile.")],
    ),
    "a line above does not answer": (
        LineReading({"forwarding": trend(WAITING, {}, "there is no connection to the line above")}, [], NOW_S),
        [("forwarding", "Forwarding is not ready: there is no connection to the line above.")],
    ),
    "an alert is told where fusion cannot be seen": (
        LineReading({"ingest": trend(INGEST, {})}, [alert("line_stalled")], NOW_S),
        [("fusion", "It is so: Because.")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_and_the_most_upstream_first(case: str) -> None:
    line, expected = CASES[case]
    assert sentences(line) == expected


@pytest.mark.parametrize("case", CASES)
def test_each_fault_names_a_section_that_the_page_has(case: str) -> None:
    for fault in faults_of(CASES[case][0]):
        page = (ROOT / fault.page).read_text(encoding="utf-8")
        assert f" {fault.section}\n" in page or f"| {fault.section} |" in page


def test_a_line_that_is_not_seen_has_no_number_and_no_state_that_is_well() -> None:
    for line in (LineReading(), reading(**ALL_AWAY)):
        for kind in (*LINE, *BESIDE):
            view = kind.view(line, faults_of(line))
            assert view.state != "well"
            assert {figure.words for figure in view.figures} <= {"unknown"}


def test_what_is_to_be_forwarded_is_a_figure() -> None:
    [kind] = [each for each in BESIDE if each.station == "forwarding"]
    line = LineReading({"forwarding": trend(WAITING, {})}, [], NOW_S)
    assert kind.view(line, ()).state == "well"
    assert "12 records" in [each.words for each in kind.figures(line)]


def test_a_quantile_lies_within_its_bucket() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({1.0: 0.0, float("inf"): 0.0}, 0.5) is None
    assert quantile({1.0: 10.0, 2.0: 30.0, float("inf"): 30.0}, 0.5) == pytest.approx(1.25)
    assert quantile({1.0: 0.0, float("inf"): 4.0}, 0.5) == 1.0  # more is not known


def test_stations_are_in_the_order_of_the_line() -> None:
    assert tuple(kind.station for kind in (*LINE, *BESIDE)) == STATIONS
    assert HealthFault("people", "", "").page.startswith("docs/")


def posts(*looks: tuple[float, int]) -> LineReading:
    """Return a line of which ingest was looked at so: seconds, and how many posts had come."""
    made = [
        ComponentReading(at_s, is_ready=True, samples=samples({"coincide_ingest_posts_total": count}))
        for at_s, count in looks
    ]
    return LineReading({"ingest": ComponentTrend(made)})


@pytest.mark.parametrize(
    ("line", "lasts_s", "shown"),
    [
        (posts((0, 5)), None, ("unknown", "is being looked at")),
        (posts((0, 5), (2, 5)), None, ("unknown", "is being looked at")),
        (posts((0, 5), (2, 6)), None, ("well", "posts arrive")),
        (posts((0, 5), (120, 5)), 120, ("unknown", "nobody has posted for 2 min")),
    ],
)
def test_only_who_has_looked_for_long_says_that_nobody_posts(
    line: LineReading, lasts_s: float | None, shown: tuple[str, str]
) -> None:
    [gateways] = [each for each in LINE if each.station == "gateways"]
    view = gateways.view(line, [])
    assert (quiet_s(line), (view.state, view.why)) == (lasts_s, shown)
