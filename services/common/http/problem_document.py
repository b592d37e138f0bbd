"""The one shape of every HTTP error (RFC 9457), for whoever answers, with and without FastAPI."""

from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


def problem_document(status: int, detail: str, **extensions: Any) -> dict[str, Any]:
    """Return the members of a problem document: ``detail`` is one sentence for the caller."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, **extensions}
