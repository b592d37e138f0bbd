"""How POST /v1/detections reads in the OpenAPI description; written by hand for the raw-request endpoint."""

from typing import Any

from coincide.arrays.instants import YEAR_1980_US
from coincide.wire.fields import LONGEST_NAME
from services.ingest.registry.sensors import MOST_BUCKETS
from services.ingest.stamping.posted import ALLOWED, LONGEST_BYTES
from services.ingest.verdicts import Reason

_INSTANT: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "format": "date-time", "description": "RFC 3339, with its offset"},
        {"type": "integer", "minimum": YEAR_1980_US, "description": "microseconds since 1970 UTC"},
    ]
}
_NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "number"}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _form(**properties: Any) -> dict[str, Any]:
    return {**_object(**properties), "additionalProperties": False}


_UNCERTAINTY: dict[str, Any] = {
    "description": "This event's own distribution, instead of its sensor's template.",
    "oneOf": [
        _form(sigma_s={"type": "number", "exclusiveMinimum": 0, "description": "Gaussian clock error"}),
        _form(earliest=_INSTANT, latest=_INSTANT),
        _form(edges_s={**_NUMBERS, "maxItems": MOST_BUCKETS + 1}, mass={**_NUMBERS, "maxItems": MOST_BUCKETS}),
    ],
}
_DETECTION: dict[str, Any] = {
    "type": "object",
    "required": ["sensor", "detected_at"],
    "additionalProperties": False,
    "properties": {
        "sensor": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": ALLOWED["sensor"]},
        "stream": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": ALLOWED["stream"]},
        "detected_at": {**_INSTANT, "description": "When the sensor says it happened."},
        "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": ALLOWED["id"]},
        "attributes": {
            "type": "object",
            "description": "What else is known of it. Matches carry it, and queries may read it: a filter, `equal`, or "
            "the `value` of a query over readings, which must be a number. GET /v1/queries of alerting shows which do. "
            f"At most {LONGEST_BYTES} bytes of compact JSON.",
        },
        "uncertainty": _UNCERTAINTY,
    },
}
_VERDICT: dict[str, Any] = {
    "type": "object",
    "required": ["index", "status"],
    "properties": {
        "index": {"type": "integer", "description": "position of the item in the POST, from 0"},
        "status": {"enum": ["accepted", "refused", "unacknowledged"]},
        "id": {"type": "string", "description": "the detection's id, given or made from its content"},
        "reason": {
            "enum": [reason.value for reason in Reason],
            "description": "; ".join(f"{reason.value}: {reason.meaning}" for reason in Reason),
        },
        "field": {"type": "string"},
        "value": {"description": "the refused value, shortened"},
        "allowed": {"type": "string"},
        "detail": {"type": "string", "description": "the refusal as one sentence"},
        "retryable": {"type": "boolean", "description": "whether sending the same item again can help"},
    },
}
_COUNTED: dict[str, Any] = {
    "accepted": {"type": "integer"},
    "refused": {"type": "integer"},
    "received_at_us": {"type": "integer"},
    "detections": {"type": "array", "items": _VERDICT},
}
_TEXT = {"type": "string"}
_PROBLEM = _object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT)
_ITEMISED_PROBLEM: dict[str, Any] = {
    **_PROBLEM,
    "properties": {**_PROBLEM["properties"], **_COUNTED, "unacknowledged": {"type": "integer"}},
}
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
            "description": "At least one item was accepted, and Kafka has acknowledged every accepted one.",
            "content": {"application/json": {"schema": _object(**_COUNTED)}},
        },
        "400": _problem("The body is not JSON, not UTF-8, nested absurdly deep, or broken gzip."),
        "408": _problem("The body did not arrive in time."),
        "413": _problem("The body is too long, or holds too many detections."),
        "415": _problem("Another Content-Type or Content-Encoding."),
        "422": _problem("No item was accepted; each is listed with its reason.", _ITEMISED_PROBLEM),
        "503": {
            **_problem(
                "Some accepted item was not acknowledged by Kafka, or nothing could be taken. Repeat the whole POST.",
                _ITEMISED_PROBLEM,
            ),
            "headers": _RETRY_AFTER,
        },
    },
}
