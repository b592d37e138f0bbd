"""How the API's bodies and errors are described in its OpenAPI document."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from services.alerting.api.query_models import QueryDocument
from services.alerting.api.result_models import ProblemDocument
from services.common.problem import MEDIA_TYPE


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these statuses."""
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def describe_all_bodies(app: FastAPI) -> None:
    """Add to the document of `app` the bodies that FastAPI does not see: problems, and queries read as strict JSON."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
            (ProblemDocument, "serialization"),
            (QueryDocument, "validation"),
        ]
        _, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")
        document["components"]["schemas"].update(schemas["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]
