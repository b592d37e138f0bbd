"""The OpenAPI document: FastAPI's, with the schemas of what FastAPI does not parse or write itself."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from services.alerting.api.models import ProblemDocument
from services.alerting.api.query_models import QueryDocument


def describe_all_bodies(app: FastAPI) -> None:
    """Make the document of `app` hold problem documents, and the queries whose text is read strictly."""
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
