import json
from typing import Any

import jsonschema
import pytest

from services.ingest.http.openapi import DETECTION_COMPONENTS, DETECTIONS_OPENAPI
from tests.services.ingest.building import NOW_US, Ingest, detection
from tests.services.ingest.http.test_refusals import REFUSED

CONTENT = DETECTIONS_OPENAPI["requestBody"]["content"]
COMPONENTS = {"components": {"schemas": DETECTION_COMPONENTS}}
SCHEMA = CONTENT["application/json"]["schema"] | COMPONENTS


def described_response(status: int) -> Any:
    content = DETECTIONS_OPENAPI["responses"][str(status)]["content"]
    return next(iter(content.values()))["schema"] | COMPONENTS


def test_the_description_has_every_answer_and_no_other() -> None:
    post = Ingest().app.openapi()["paths"]["/v1/detections"]["post"]
    of_the_guard = {"401", "403", "421", "429"}
    assert set(post["responses"]) == {"202", "400", "408", "413", "415", "422", "503"} | of_the_guard
    assert set(post["requestBody"]["content"]) == {"application/json", "application/x-ndjson"}
    for example in CONTENT["application/json"]["examples"].values():
        jsonschema.validate(example["value"], SCHEMA)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"id": "x", "stream": "seismic", "attributes": {"a": 1}},
        {"uncertainty": {"sigma_s": 1}},
        {"uncertainty": {"earliest": NOW_US, "latest": "2025-10-09T08:53:20Z"}},
        {"uncertainty": {"edges_s": [0, 1], "mass": [1]}},
    ],
)
def test_what_is_accepted_is_described(members: dict[str, Any]) -> None:
    jsonschema.validate(detection(**members), SCHEMA)
    response = Ingest().post_items(detection(**members))
    assert response.status_code == 202
    jsonschema.validate(response.json(), described_response(202))


def test_answers_are_as_described() -> None:
    bodies = "[" + ",".join(bad for _, bad, _ in REFUSED) + "]"
    jsonschema.validate(Ingest().post(bodies).json(), described_response(422))
    ingest = Ingest()
    ingest.publisher.acknowledges = [False]
    jsonschema.validate(ingest.post_items(detection()).json(), described_response(503))


def test_types_that_are_refused_are_not_described_as_good() -> None:
    for reason, bad, _ in REFUSED:
        if reason in {"wrong_type", "missing_field", "unknown_field", "wrong_length"} and "both" not in bad:
            value = json.loads(bad)
            if value.get("detected_at") in (1.76e15, -0.0):
                continue  # JSON Schema calls 1.0 an integer
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(value, SCHEMA)
