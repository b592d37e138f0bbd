"""What people read of Prometheus's alerts: each number is rounded, and promtool says so for values of many digits."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.host.machine import ROOT
from tests.prometheus import find_promtool

RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
SUMMARIES: dict[str, str] = {
    rule["alert"]: rule["annotations"]["summary"]
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}
#: Series, 5 s from sample to sample; after how many minutes the alert is asked for; and its sentence.
SPOKEN: dict[str, tuple[dict[str, str], int, str]] = {
    "CoincideMatchesDelayed": (
        {
            'coincide_alerting_match_delay_seconds_bucket{le="10"}': "0+0.9876x200",
            'coincide_alerting_match_delay_seconds_bucket{le="30"}': "0+1x200",
            'coincide_alerting_match_delay_seconds_bucket{le="+Inf"}': "0+1x200",
        },
        10,
        "1 in 100 matches is stored more than 13.9 s after its last detection was received",
    ),
    "CoincideFusionStalled": (
        {
            "coincide_fusion_last_batch_timestamp_seconds": "0.384729+0x200",
            "coincide_fusion_lag_records": "7+0x200",
            'coincide_fusion_halted{reason="topic_missing"}': "0+0x200",
        },
        3,
        "The fusion job has records to process and has finished no batch for 2m 59s",
    ),
    "CoincideAnswersExpired": (
        {'coincide_alerting_records_expired_total{topic="coincide.matches"}': "0+2.412847x400"},
        30,
        "Kafka deleted 434 matches, episodes or dead letters before alerting had stored them",
    ),
    "CoincideDetectionsEvicted": (
        {"coincide_fusion_evicted_total": "0+0.012847x400"},
        30,
        "Detections were evicted before their time, 3 within a quarter of an hour: matches may be missing",
    ),
    "CoincideQuerySuspended": (
        {'coincide_fusion_query_suspensions{query="bang"}': "3+0x20"},
        1,
        "The query bang broke a limit and gives no more matches there (areas: 3)",
    ),
    "CoincideDetectionsLate": (
        {"coincide_fusion_late_total": "0+0.412837x800", "coincide_fusion_detections_total": "0+1x800"},
        40,
        "41 % of the detections come too late to be joined",
    ),
    "CoincideFusionRestarts": (
        {"coincide_fusion_query_restarts_total": "0+0.0117x1000", "coincide_fusion_kafka_up": "1+0x1000"},
        70,
        "The streaming query was restarted 9 times within an hour",
    ),
    "CoincideReceiverUntold": (
        {'coincide_alerting_outbox_age_seconds{receiver="ops"}': "4929.384729+0x200"},
        5,
        "The receiver ops has not taken an alert for 1h 22m 9s",
    ),
    "CoincideDeliveriesDead": (
        {'coincide_alerting_deliveries_total{outcome="dead",receiver="ops"}': "0+0.0117x1000"},
        70,
        "ops could not be told of alerts, which were given up: 9 within an hour",
    ),
}


def test_every_sentence_with_a_value_is_tried_here_and_rounds_it() -> None:
    spoken = {
        alert: re.findall(r"\$value[^}]*", summary) for alert, summary in SUMMARIES.items() if "$value" in summary
    }
    assert spoken.keys() == SPOKEN.keys()
    for said in (each for values in spoken.values() for each in values):
        assert re.fullmatch(r'\$value \| (humanizeDuration|printf "%\.\d[fg]") ', said)


@pytest.mark.parametrize("alert", SPOKEN)
def test_values_of_many_digits_are_rounded_for_people(alert: str, tmp_path: Path) -> None:
    series, minutes, sentence = SPOKEN[alert]
    text = alerts_after(series, minutes, alert, tmp_path)
    assert f'summary="{sentence}"' in text


@pytest.mark.parametrize("name", ["detections_unacknowledged", "heartbeats_failed"])
def test_what_follows_from_an_outage_of_kafka_is_not_told_during_it_nor_after(name: str, tmp_path: Path) -> None:
    away = {
        f"coincide_ingest_{name}_total": "0+0x12 0+3x60 180+0x60",
        "coincide_fusion_kafka_up": "1+0x12 0+0x60 1+0x60",
        "coincide_alerting_kafka_up": "1+0x12 0+0x60 1+0x60",
    }
    alert = "CoincideDetectionsUnacknowledged" if name.startswith("d") else "CoincideHeartbeatsFail"
    for minutes in (5, 6, 7, 10):
        assert alerts_after(away, minutes, alert, tmp_path) == ""
    assert alerts_after({f"coincide_ingest_{name}_total": "0+3x140"}, 6, alert, tmp_path) != ""


def alerts_after(series: dict[str, str], minutes: int, alert: str, folder: Path) -> str:
    """Return what promtool says that the alert fires as, where it is told to expect nothing; empty if it does not."""
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    asked = {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": []}
    test = {"interval": "5s", "input_series": inputs, "alert_rule_test": [asked]}
    document: dict[str, Any] = {"rule_files": [str(RULES)], "evaluation_interval": "5s", "tests": [test]}
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    ended = subprocess.run(
        [find_promtool(), "test", "rules", file], capture_output=True, text=True, timeout=60, check=False
    )
    said = ended.stdout + ended.stderr
    if ended.returncode == 0:
        return ""
    assert "got:" in said, said
    return said.partition("got:")[2]
