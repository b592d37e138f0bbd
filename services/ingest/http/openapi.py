"""How POST /v1/detections reads in the OpenAPI description; bodies are as their records say."""

from typing import Any

from coincide.wire.json_schema import schemas_of
from services.ingest.stamping.posted import PostedDetection
from services.ingest.verdicts import Outcome

_FOLDER = "#/components/schemas/"
#: The schemas that the description below refers to.
DETECTION_COMPONENTS = schemas_of((PostedDetection, Outcome), _FOLDER)
_DETECTION = {"$ref": _FOLDER + PostedDetection.__name__}
_OUTCOME = {"$ref": _FOLDER + Outcome.__name__}
_TEXT = {"type": "string"}
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "properties": {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
    "required": ["type", "title", "status", "detail"],
}
_ITEMISED_PROBLEM: dict[str, Any] = {"allOf": [_PROBLEM, _OUTCOME]}
_EXAMPLE: dict[str, Any] = {
    "sensor": "kamiokande-ii",
    "detected_at": "1987-02-23T07:35:35Z",
    "attributes": {"energy_mev": 20.0},
}


def _problem(description: str, schema: dict[str, Any] = _PROBLEM) -> dict[str, Any]:
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


_RETRY_AFTER = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}

DETECTIONS_OPENAPI: dict[str, Any] = {
    "tags": ["detections"],
    "summary": "Report detections",
    "description": (
        "One detection, an array of them, or one a line (NDJSON), gzip or not. "
        "The answer lists what became of each item, in order. Repeating a POST is always safe."
    ),
    "operationId": "postDetections",
    "parameters": [
        {"name": "Content-Encoding", "in": "header", "required": False, "schema": {"enum": ["gzip", "identity"]}}
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"oneOf": [_DETECTION, {"type": "array", "minItems": 1, "items": _DETECTION}]},
                "examples": {"one": {"value": _EXAMPLE}, "several": {"value": [_EXAMPLE]}},
            },
            "application/x-ndjson": {"schema": _DETECTION, "example": _EXAMPLE},
        },
    },
    "responses": {
        "202": {
            "description": "At least one item was accepted, and the log has acknowledged every accepted one.",
            "content": {"application/json": {"schema": _OUTCOME}},
        },
        "400": _problem("The body is not JSON, not UTF-8, nested absurdly deep, or broken gzip."),
        "408": _problem("The body did not arrive in time."),
        "413": _problem("The body is too long, or holds too many detections."),
        "415": _problem("Another Content-Type or Content-Encoding."),
        "422": _problem("No item was accepted; each is listed with its reason.", _ITEMISED_PROBLEM),
        "503": {
            **_problem(
                "Some accepted item was not acknowledged by the log, or nothing could be taken. Repeat the whole POST.",
                _ITEMISED_PROBLEM,
            ),
            "headers": _RETRY_AFTER,
        },
    },
}
