import json
from typing import Any

import pytest

from services.ingest.stamping.verdicts import Reason
from tests.services.ingest.building import NOW_US, Ingest, detection

GOOD = '{"sensor":"geo","detected_at":1759999999000000}'


def item(**members: str) -> str:
    """One detection whose members are given as raw JSON."""
    raw = {"sensor": '"geo"', "detected_at": str(NOW_US), **members}
    return "{" + ",".join(f'"{name}":{value}' for name, value in raw.items()) + "}"


REFUSED: list[tuple[str, str, str | None]] = [
    ("not_an_object", "3", None),
    ("not_an_object", '"text"', None),
    ("not_an_object", "null", None),
    ("not_an_object", "[]", None),
    ("duplicate_key", '{"sensor":"geo","sensor":"imb","detected_at":1760000000000000}', "sensor"),
    ("duplicate_key", '{"sensor" : "geo","sensor" : "geo","detected_at":1760000000000000}', "sensor"),
    ("duplicate_key", item(attributes='{"a":1,"a":1}'), "attributes"),
    ("duplicate_key", item(attributes='{"a":{"b":1,"c":2,"b":3}}'), "attributes"),
    ("duplicate_key", item(attributes=r'{"a":1,"\u0061":2}'), "attributes"),
    ("duplicate_key", item(uncertainty='{"sigma_s":1,"sigma_s":2}'), "uncertainty"),
    ("missing_field", '{"detected_at":1760000000000000}', "sensor"),
    ("missing_field", '{"sensor":"geo"}', "detected_at"),
    ("missing_field", item(sensor='"both"'), "stream"),
    ("unknown_field", item(time="1"), "time"),
    ("wrong_type", item(detected_at="true"), "detected_at"),
    ("wrong_type", item(detected_at="1760000000000000.0"), "detected_at"),
    ("wrong_type", item(detected_at="1.76e15"), "detected_at"),
    ("wrong_type", item(detected_at="-0.0"), "detected_at"),
    ("wrong_type", item(detected_at="null"), "detected_at"),
    ("wrong_type", item(detected_at="[]"), "detected_at"),
    ("wrong_type", item(id="12"), "id"),
    ("wrong_type", item(id="null"), "id"),
    ("wrong_type", item(sensor="{}"), "sensor"),
    ("wrong_type", item(attributes="[1]"), "attributes"),
    ("wrong_length", item(sensor='""'), "sensor"),
    ("wrong_length", item(id='"' + "x" * 201 + '"'), "id"),
    ("bad_text", item(id=r'"\ud800"'), "id"),
    ("bad_text", item(sensor=r'"\udfffgeo"'), "sensor"),
    ("bad_text", item(id=r'"\u0000"'), "id"),
    ("bad_text", item(attributes=r'{"\ud83d":1}'), "attributes"),
    ("not_finite", item(detected_at="NaN"), "detected_at"),
    ("not_finite", item(detected_at="-Infinity"), "detected_at"),
    ("not_finite", item(attributes='{"a":[1,1e999]}'), "attributes"),
    ("not_finite", item(uncertainty='{"sigma_s":NaN}'), "uncertainty"),
    ("out_of_range", item(detected_at="18446744073709551616"), "detected_at"),
    ("out_of_range", item(detected_at="1" * 5000), "detected_at"),
    ("out_of_range", item(attributes='{"a":9223372036854775808}'), "attributes"),
    ("out_of_range", item(attributes='{"a":[-9223372036854775809]}'), "attributes"),
    ("unknown_sensor", item(sensor='"nobody"'), "sensor"),
    ("unknown_stream", item(stream='"tidal"'), "stream"),
    ("unknown_stream", item(sensor='"strange"'), "stream"),
    ("wrong_stream", item(stream='"acoustic"'), "stream"),
    ("bad_time", item(detected_at='"12"'), "detected_at"),
    ("bad_time", item(detected_at='"2025-10-09T08:53:20"'), "detected_at"),  # naive
    ("bad_time", item(detected_at='"2025-W41-4T08:53:20Z"'), "detected_at"),  # week date
    ("bad_time", item(detected_at='"2025-10-09"'), "detected_at"),
    ("bad_time", item(detected_at='"2025-10-09T08:53:60Z"'), "detected_at"),  # leap second
    ("bad_time", item(detected_at='"2025-10-09T08:53:20+24:00"'), "detected_at"),
    ("bad_time", item(detected_at='"2025-02-30T08:53:20Z"'), "detected_at"),
    ("bad_time", item(detected_at='"٢٠٢٥-10-09T08:53:20Z"'), "detected_at"),
    ("looks_like_seconds", item(detected_at="1760000000"), "detected_at"),
    ("looks_like_seconds", item(detected_at="1760000000000"), "detected_at"),  # milliseconds
    ("looks_like_seconds", item(detected_at="-0"), "detected_at"),
    ("looks_like_seconds", item(detected_at="-9223372036854775808"), "detected_at"),
    ("before_1980", item(detected_at='"1979-12-31T23:59:59.999999Z"'), "detected_at"),
    ("before_1980", item(detected_at='"0001-01-01T00:00:00+23:59"'), "detected_at"),
    ("in_the_future", item(detected_at=str(NOW_US + 300_000_001)), "detected_at"),
    ("in_the_future", item(detected_at="9223372036854775807"), "detected_at"),
    ("in_the_future", item(detected_at='"9999-12-31T23:59:59-23:59"'), "detected_at"),
    ("attributes_too_long", item(attributes=json.dumps({"a": "x" * 1017})), "attributes"),
    ("too_deep", item(attributes='{"1":{"2":{"3":{"4":{"5":{"6":1}}}}}}'), "attributes"),
    ("too_deep", item(attributes='{"1":' + "[" * 400 + "]" * 400 + "}"), "attributes"),
    ("bad_uncertainty", item(uncertainty="{}"), "uncertainty"),
    ("bad_uncertainty", item(uncertainty="1"), "uncertainty"),
    ("bad_uncertainty", item(uncertainty='{"sigma_s":"1"}'), "uncertainty"),
    ("bad_uncertainty", item(uncertainty='{"sigma_s":0}'), "uncertainty.sigma_s"),
    ("bad_uncertainty", item(uncertainty='{"sigma_s":-1}'), "uncertainty.sigma_s"),
    ("bad_uncertainty", item(uncertainty='{"sigma":1}'), "uncertainty"),
    ("bad_uncertainty", item(uncertainty='{"sigma_s":1,"edges_s":[0,1],"mass":[1]}'), "uncertainty"),
    ("bad_uncertainty", item(uncertainty='{"edges_s":[0,1]}'), "uncertainty"),
    ("bad_uncertainty", item(uncertainty='{"edges_s":[1,0],"mass":[1]}'), "uncertainty.edges_s"),
    ("bad_uncertainty", item(uncertainty='{"edges_s":[0,1],"mass":[0.5]}'), "uncertainty.mass"),
    ("bad_uncertainty", item(uncertainty=f'{{"earliest":{NOW_US},"latest":{NOW_US - 1}}}'), "uncertainty.latest"),
    ("bad_time", item(uncertainty=f'{{"earliest":{NOW_US},"latest":"soon"}}'), "uncertainty.latest"),
    ("looks_like_seconds", item(uncertainty=f'{{"earliest":5,"latest":{NOW_US}}}'), "uncertainty.earliest"),
    ("template_too_long", item(uncertainty='{"sigma_s":7.6}'), "uncertainty"),  # +-4 sigma is 60.8 s, 60 are declared
    ("template_too_long", item(sensor='"vague"'), "sensor"),
    ("template_too_long", item(uncertainty='{"edges_s":[1e6,1000001],"mass":[1]}'), "uncertainty"),
    (
        "template_too_long",
        item(uncertainty=json.dumps({"edges_s": list(range(66)), "mass": [1 / 65] * 65})),
        "uncertainty.mass",
    ),
]


@pytest.mark.parametrize(("reason", "bad", "field"), REFUSED)
def test_a_bad_item_is_refused_by_name_and_its_neighbours_go_on(reason: str, bad: str, field: str | None) -> None:
    ingest = Ingest()
    response = ingest.post(f"[{GOOD},{bad},{GOOD}]")
    assert response.status_code == 202, response.text
    verdicts = response.json()["detections"]
    assert [each["status"] for each in verdicts] == ["accepted", "refused", "accepted"]
    refused = verdicts[1]
    assert (refused["index"], refused["reason"], refused.get("field")) == (1, reason, field)
    assert refused["allowed"]
    assert refused["detail"]
    assert refused["retryable"] is (reason in {"unknown_sensor", "wrong_stream", "in_the_future"})
    assert len(ingest.publisher.detections) == 2
    assert ingest.metric("coincide_ingest_detections_refused_total", reason=reason) == 1
    assert [letter["reason"] for _, letter in ingest.publisher.dead_letters] == [reason]


@pytest.mark.parametrize(("reason", "bad", "field"), REFUSED)
def test_a_bad_line_is_refused_as_a_bad_item_is(reason: str, bad: str, field: str | None) -> None:
    response = Ingest().post(f"{GOOD}\n{bad}\n\n{GOOD}\n", "application/x-ndjson")
    verdicts = response.json()["detections"]
    assert [each["status"] for each in verdicts] == ["accepted", "refused", "accepted"]
    assert verdicts[1]["reason"] == reason


def test_every_reason_code_is_tested() -> None:
    tested = {reason for reason, _, _ in REFUSED} | {"malformed_json"}
    assert tested == {reason.value for reason in Reason}


@pytest.mark.parametrize("line", ['{"sensor":', "\x00", "[" * 100_000, '{"sensor":"geo\xff"}'])
def test_a_line_that_is_no_json_is_refused_alone(line: str) -> None:
    ingest = Ingest()
    body = f"{GOOD}\n{line}\n{GOOD}".encode("latin-1")
    response = ingest.post(body, "application/x-ndjson")
    assert [each["status"] for each in response.json()["detections"]] == ["accepted", "refused", "accepted"]
    assert response.json()["detections"][1]["reason"] == "malformed_json"
    assert len(ingest.publisher.dead_letters) == 1


@pytest.mark.parametrize("body", ["", "{", "[1,]", "nonsense", "[" * 100_000, "[" + GOOD + "] x", "\ufeff[]"])
def test_a_body_that_is_no_json_fails_whole(body: str) -> None:
    ingest = Ingest()
    response = ingest.post(body.encode())
    assert response.status_code == 400, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["reason"] == "malformed_json"
    assert ingest.metric("coincide_ingest_detections_refused_total", reason="malformed_json") == 1
    assert not ingest.publisher.frames


def test_a_body_that_is_not_utf_8_fails_whole() -> None:
    assert Ingest().post(b'[{"sensor":"\xff"}]').status_code == 400


def test_a_repeated_post_of_a_refused_item_makes_the_same_dead_letter() -> None:
    ingest = Ingest()
    for _ in range(2):
        ingest.post_items(detection(sensor="nobody"))
    first, second = (letter for _, letter in ingest.publisher.dead_letters)
    assert first["dead_id"] == second["dead_id"]


def test_values_shown_are_short_and_readable() -> None:
    response = Ingest().post(f"[{item(id=json.dumps('x' * 10_000))}]")
    shown: Any = response.json()["detections"][0]["value"]
    assert len(shown) == 100
