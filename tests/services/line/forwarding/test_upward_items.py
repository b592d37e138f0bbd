"""What is forwarded is what ingest above takes, and says when it happened as this line knew it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from coincide.wire.results.match_record import OccurrenceRecord
from services.common.settings import SettingsError
from services.ingest.stamping.parsing import read_item
from services.ingest.stamping.stamp import own_template
from services.line.forwarding.forward_settings import ForwardSettings
from services.line.forwarding.upward_items import as_detection, detections_in, match_in

EXAMPLES = Path("docs/contracts/examples")
MATCH = match_in(json.dumps(json.loads((EXAMPLES / "matches.json").read_text())[0]).encode())
NOW_US = 1_700_000_000_000_000


def test_every_detection_of_a_frame_has_the_template_that_it_had_here() -> None:
    frame = json.loads((EXAMPLES / "detections.json").read_text())[0]
    frame["stamps"][0]["place"] = {"lat": 47.5, "lon": -3.0}
    items = [json.loads(each) for each in detections_in(json.dumps(frame).encode())]
    stamps = [frame["stamps"][each] for each in frame["detections"]["stamp"]]
    assert [each["id"] for each in items] == frame["detections"]["id"]
    assert [each["detected_at"] for each in items] == frame["detections"]["detected_at_us"]
    assert [(each["sensor"], each["stream"]) for each in items] == [(s["sensor"], s["stream"]) for s in stamps]
    for item, stamp in zip(items, stamps, strict=True):
        assert item.get("place") == stamp.get("place")
        posted = read_item(item)
        assert own_template(posted.uncertainty, item["detected_at"]).id == stamp["template"]  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 5_000_000), min_size=4, max_size=4), st.integers(0, 5_000_000), st.booleans())
def test_a_match_is_a_detection_whose_uncertainty_has_its_quantiles(
    times: list[int], mean: int, is_unknown: bool
) -> None:
    low, p05, p95, high = (NOW_US + each for each in sorted(times))
    occurred = OccurrenceRecord(min(max(NOW_US + mean, p05), p95), 1.0, p05, p95)
    match = replace(MATCH, earliest_us=low, latest_us=high, occurred=None if is_unknown else occurred)
    item = json.loads(as_detection(match, "{area}/{query}"))
    assert (item["id"], item["sensor"]) == (MATCH.id, f"{MATCH.area}/{MATCH.query}")
    histogram = own_template(read_item(item).uncertainty, item["detected_at"]).histogram  # type: ignore[arg-type]
    edges_us = item["detected_at"] + np.rint(np.asarray(histogram.edges_s) * 1e6)
    assert list(edges_us) == ([low, high] if is_unknown else [low, p05, p95, high])
    assert list(histogram.mass) == pytest.approx([1.0] if is_unknown else [0.05, 0.9, 0.05])


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"to": "coincide.example"}, "to"),
        ({"to": "https://coincide.example/v1"}, "to"),
        ({"to": "http://coincide.example", "key": "env:KEY"}, "must begin with https://"),
        ({"key": "ck_in_clear"}, "key"),
        ({"sensor": "{place}"}, "sensor"),
        ({"what": "episodes"}, "what"),
        ({"queries": []}, "queries"),
    ],
)
def test_settings_that_cannot_work_are_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ForwardSettings.model_validate({"to": "https://coincide.example", "what": "matches", **fields})


def test_the_key_stands_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ck_file\n")
    (tmp_path / "long").write_text("two words")

    def key(reference: str | None) -> str | None:
        return ForwardSettings(to="https://a.example", what="matches", key=reference).key_text({"KEY": "ck_env"})

    assert (key(None), key("env:KEY"), key(f"file:{tmp_path / 'key'}")) == (None, "ck_env", "ck_file")
    for reference in ("env:OTHER", f"file:{tmp_path / 'none'}", f"file:{tmp_path / 'long'}"):
        with pytest.raises(SettingsError, match=r"^forward\.key: "):
            key(reference)
