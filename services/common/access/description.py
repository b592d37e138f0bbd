"""What the guard answers, and how errors look, in the OpenAPI document of a service."""

from typing import Any

from fastapi import FastAPI

from services.common.access.key_scopes import OPEN_PATHS
from services.common.http.problem_document import MEDIA_TYPE

PROBLEM: dict[str, Any] = {
    "title": "ProblemDocument",
    "description": "What is wrong (RFC 9457); further members depend on the error.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "one sentence for the caller"},
    },
}
_ALWAYS = {
    "400": "The path has a control character, or the body cannot be read",
    "403": "A page from elsewhere, or the key lacks the scope",
    "421": "The Host is not a name of this server",
}
_OF_KEYS = {
    "401": "A key is needed, or this is none",
    "429": "The key's rate is exceeded, or the peer has too many requests open",
}
_OF_BODIES = {"415": "The body's Content-Type is absent, or another one is due"}
_KEY = {"type": "http", "scheme": "bearer", "description": "A key: ck_, its id, and 256 random bits."}


def describe_access(app: FastAPI, *, needs_key: bool) -> None:
    """Add to the document of `app` the key, which answers the guard may give, and that every error is a problem."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        components = document.setdefault("components", {})
        components["securitySchemes"] = {"key": _KEY}
        schemas = components.setdefault("schemas", {})
        schemas.setdefault("ProblemDocument", PROBLEM)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        for path, operations in document["paths"].items():
            for operation in operations.values():
                _describe(operation, is_open=path in OPEN_PATHS, needs_key=needs_key)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _describe(operation: dict[str, Any], *, is_open: bool, needs_key: bool) -> None:
    possible = _ALWAYS | ({} if is_open else _OF_KEYS) | (_OF_BODIES if "requestBody" in operation else {})
    responses = operation.setdefault("responses", {})
    for status, text in possible.items():
        responses.setdefault(status, {"description": text})
    for status, response in responses.items():
        if status >= "400" and MEDIA_TYPE not in response.get("content", {}):
            response["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    operation["responses"] = dict(sorted(responses.items()))
    if not is_open:
        operation["security"] = [{"key": []}] if needs_key else [{}, {"key": []}]
