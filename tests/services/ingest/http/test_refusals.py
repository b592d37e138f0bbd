import json

import pytest

from services.ingest.verdicts import Reason
from tests.services.ingest.building import NOW_US, Ingest

TAKEN = ("accepted", None)
GOOD = '{"sensor":"geo","detected_at":1759999999000000}'


def item(**members: str) -> str:
    """One detection whose members are given as raw JSON."""
    raw = {"sensor": '"geo"', "detected_at": str(NOW_US), **members}
    return "{" + ",".join(f'"{name}":{value}' for name, value in raw.items()) + "}"


FINE = json.dumps({"edges_s": list(range(66)), "mass": [1 / 65] * 65})

# The reason, the field and the values of that field, or where it is None the whole items, that are refused so.
BY_REASON: list[tuple[str, str | None, list[str]]] = [
    ("not_an_object", None, ["3", '"text"', "null", "[]"]),
    ("duplicate_key", "attributes", ['{"a":1,"a":1}', '{"a":{"b":1,"c":2,"b":3}}', r'{"a":1,"\u0061":2}']),
    ("duplicate_key", "uncertainty", ['{"sigma_s":1,"sigma_s":2}']),
    ("unknown_field", "time", ["1"]),
    ("wrong_type", "detected_at", ["true", "1760000000000000.0", "1.76e15", "-0.0", "null", "[]"]),
    ("wrong_type", "id", ["12", "null"]),
    ("wrong_type", "sensor", ["{}"]),
    ("wrong_type", "attributes", ["[1]"]),
    ("wrong_length", "sensor", ['""']),
    ("wrong_length", "id", ['"' + "x" * 201 + '"']),
    ("bad_text", "id", [r'"\ud800"', r'"\u0000"']),
    ("bad_text", "sensor", [r'"\udfffgeo"']),
    ("bad_text", "attributes", [r'{"\ud83d":1}', r'{"a":[{"\ud800":1}]}']),
    ("not_finite", "detected_at", ["NaN", "-Infinity"]),
    ("not_finite", "attributes", ['{"a":[1,1e999]}']),
    ("not_finite", "uncertainty", ['{"sigma_s":NaN}']),
    ("out_of_range", "detected_at", ["18446744073709551616", "1" * 5000]),
    ("out_of_range", "attributes", ['{"a":9223372036854775808}', '{"a":[-9223372036854775809]}']),
    ("unknown_sensor", "sensor", ['"nobody"']),
    ("unknown_stream", "stream", ['"tidal"']),
    ("wrong_stream", "stream", ['"acoustic"']),
    # no date, naive, week date, no time; leap second, offset of a day, no such day; other digits
    ("bad_time", "detected_at", ['"12"', '"2025-10-09T08:53:20"', '"2025-W41-4T08:53:20Z"', '"2025-10-09"']),
    ("bad_time", "detected_at", ['"2025-10-09T08:53:60Z"', '"2025-10-09T08:53:20+24:00"', '"2025-02-30T08:53:20Z"']),
    ("bad_time", "detected_at", ['"٢٠٢٥-10-09T08:53:20Z"']),
    ("looks_like_seconds", "detected_at", ["1760000000", "1760000000000", "-0", "-9223372036854775808"]),
    ("looks_like_nanoseconds", "detected_at", [str(NOW_US * 1000), "9223372036854775807"]),
    ("looks_like_nanoseconds", "uncertainty.latest", [f'{{"earliest":{NOW_US},"latest":{NOW_US * 1000}}}']),
    ("before_1980", "detected_at", ['"1979-12-31T23:59:59.999999Z"', '"0001-01-01T00:00:00+23:59"']),
    ("in_the_future", "detected_at", [str(NOW_US + 300_000_001), '"9999-12-31T23:59:59-23:59"']),
    ("attributes_too_long", "attributes", [json.dumps({"a": "x" * 1017})]),
    ("too_deep", "attributes", ['{"1":{"2":{"3":{"4":{"5":{"6":1}}}}}}', '{"1":' + "[" * 400 + "]" * 400 + "}"]),
    ("bad_uncertainty", "uncertainty", ["{}", "1", '{"sigma_s":"1"}', '{"sigma":1}', '{"edges_s":[0,1]}']),
    ("bad_uncertainty", "uncertainty", ['{"sigma_s":1,"edges_s":[0,1],"mass":[1]}']),
    ("bad_uncertainty", "uncertainty.sigma_s", ['{"sigma_s":0}', '{"sigma_s":-1}']),
    ("bad_uncertainty", "uncertainty.edges_s", ['{"edges_s":[1,0],"mass":[1]}']),
    ("bad_uncertainty", "uncertainty.mass", ['{"edges_s":[0,1],"mass":[0.5]}']),
    ("bad_uncertainty", "uncertainty.latest", [f'{{"earliest":{NOW_US},"latest":{NOW_US - 1}}}']),
    ("bad_time", "uncertainty.latest", [f'{{"earliest":{NOW_US},"latest":"soon"}}']),
    ("looks_like_seconds", "uncertainty.earliest", [f'{{"earliest":5,"latest":{NOW_US}}}']),
    # 4 sigma on each side are 60.8 s, and 60 are declared
    ("template_too_long", "uncertainty", ['{"sigma_s":7.6}', '{"edges_s":[1e6,1000001],"mass":[1]}']),
    ("template_too_long", "uncertainty.mass", [FINE]),
    ("template_too_long", "sensor", ['"vague"']),
    ("bad_place", "place", ["{}", "null", "[1,2]", '{"lat":1}', '{"lat":1,"lon":1,"x_m":1,"y_m":1}']),
    ("bad_place", "place.lat", ['{"lat":91,"lon":1}', '{"lat":"45 30","lon":1}', '{"lat":true,"lon":1}']),
    ("bad_place", "place.lng", ['{"lat":1,"lng":1}']),
    ("bad_place", "place.lat, lon", ['{"lat":0,"lon":0.0}']),
    ("not_finite", "place", ['{"lat":NaN,"lon":1}']),
]
REFUSED = [
    ("duplicate_key", '{"sensor":"geo","sensor":"imb","detected_at":1760000000000000}', "sensor"),
    ("duplicate_key", '{"sensor" : "geo","sensor" : "geo","detected_at":1760000000000000}', "sensor"),
    ("missing_field", '{"detected_at":1760000000000000}', "sensor"),
    ("missing_field", '{"sensor":"geo"}', "detected_at"),
    ("missing_field", item(sensor='"both"'), "stream"),
    ("unknown_stream", item(sensor='"strange"'), "stream"),
    *(
        (reason, item(**{field.partition(".")[0]: value}) if field else value, field)
        for reason, field, values in BY_REASON
        for value in values
    ),
]


@pytest.mark.parametrize(("reason", "bad", "field"), REFUSED)
def test_a_bad_item_is_refused_by_name_and_its_neighbours_go_on(reason: str, bad: str, field: str | None) -> None:
    ingest = Ingest()
    response = ingest.post(f"[{GOOD},{bad},{GOOD}]")
    assert response.status_code == 202, response.text
    first, refused, last = response.json()["detections"]
    assert (first["status"], refused["status"], last["status"]) == ("accepted", "refused", "accepted")
    assert (refused["index"], refused["reason"], refused.get("field")) == (1, reason, field)
    assert refused["allowed"]
    assert refused["detail"]
    assert refused["retryable"] is (reason in {"unknown_sensor", "wrong_stream", "unknown_stream", "in_the_future"})
    assert len(ingest.publisher.detections) == 2
    assert ingest.metric("coincide_ingest_detections_refused_total", reason=reason) == 1
    assert [letter["reason"] for _, letter in ingest.publisher.dead_letters] == [reason]
    lines = ingest.post(f"{GOOD}\n{bad}\n\n{GOOD}\n", "application/x-ndjson").json()["detections"]
    assert [(each["status"], each.get("reason")) for each in lines] == [TAKEN, ("refused", reason), TAKEN]


def test_every_reason_code_is_tested() -> None:
    tested = {reason for reason, _, _ in REFUSED} | {"malformed_json", "not_permitted"}
    assert tested == {reason.value for reason in Reason}


@pytest.mark.parametrize("line", ['{"sensor":', "\x00", "[" * 100_000, '{"sensor":"geo\xff"}'])
def test_a_line_that_is_no_json_is_refused_alone(line: str) -> None:
    ingest = Ingest()
    body = f"{GOOD}\n{line}\n{GOOD}".encode("latin-1")
    verdicts = ingest.post(body, "application/x-ndjson").json()["detections"]
    assert [(each["status"], each.get("reason")) for each in verdicts] == [TAKEN, ("refused", "malformed_json"), TAKEN]
    assert len(ingest.publisher.dead_letters) == 1


WHOLE = ["", "{", "[1,]", "nonsense", "[" * 100_000, "[" + GOOD + "] x", "\ufeff[]", b'[{"sensor":"\xff"}]']


@pytest.mark.parametrize("body", WHOLE)
def test_a_body_that_is_no_json_or_no_utf_8_fails_whole(body: str | bytes) -> None:
    ingest = Ingest()
    response = ingest.post(body)
    assert response.status_code == 400, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["reason"] == "malformed_json"
    assert ingest.metric("coincide_ingest_detections_refused_total", reason="malformed_json") == 1
    assert not ingest.publisher.frames


def test_values_shown_are_short_and_readable() -> None:
    [refused] = Ingest().post(item(id=json.dumps("x" * 10_000))).json()["detections"]
    assert len(refused["value"]) == 100
