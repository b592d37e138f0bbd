"""How the API's errors are described in its OpenAPI document."""

from http import HTTPStatus
from typing import Any

from services.alerting.api.models import ProblemDocument
from services.common.problem import MEDIA_TYPE


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these statuses."""
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }
