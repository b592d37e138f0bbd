"""The contract of a query, a file of the library, as documents of OpenAPI have it, and its id in a path."""

import json
from importlib.resources import files
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator

from coincide.stream import LONGEST_NAME, NAME, NAME_IN_WORDS

#: The component that is a query in the body of a request.
QUERY_DOCUMENT = "QueryDocument"
_DEFINED = "#/$defs/"


def _as_id(text: str) -> str:
    if len(text) > LONGEST_NAME or not NAME.fullmatch(text):
        raise ValueError(NAME_IN_WORDS)
    return text


#: The id of a query in a path, refused in words where no query can have it.
QueryId = Annotated[
    str,
    Path(
        description="The query's id.",
        json_schema_extra={"pattern": f"^{NAME.pattern}$", "minLength": 1, "maxLength": LONGEST_NAME},
    ),
    AfterValidator(_as_id),
]


def query_schema() -> dict[str, Any]:
    """Return the JSON Schema of a query."""
    schema: dict[str, Any] = json.loads(files("coincide.queries").joinpath("query.schema.json").read_text("utf-8"))
    return schema


def query_components(folder: str) -> dict[str, Any]:
    """Return the components that are a query and all that it holds; they refer to each other in `folder`."""
    text = json.dumps({name: each for name, each in query_schema().items() if name not in ("$schema", "title")})
    schema = json.loads(text.replace(_DEFINED, f"{folder}{QUERY_DOCUMENT}."))
    parts = {f"{QUERY_DOCUMENT}.{name}": _without_id(each) for name, each in schema.pop("$defs").items()}
    return {QUERY_DOCUMENT: schema, **parts}


def _without_id(part: dict[str, Any]) -> dict[str, Any]:
    """Return it without the need of an id: the path of a request names it."""
    required = [name for name in part.get("required", []) if name != "id"]
    return {**part, "required": required} if required else part
