"""JSON Schema of records, derived from their declarations."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct


def schemas_of(types: Sequence[type[Struct]], folder: str) -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of records and of all that they hold, by name.

    Parameters
    ----------
    types
        Records; none of them omits defaults.
    folder
        Where they refer to each other, such as ``#/$defs/``.

    Returns
    -------
    dict
        Schemas (2020-12) of what is written: a field is required unless it may be unset.

    Examples
    --------
    >>> from coincide.wire.match_record import EdgeRecord
    >>> schemas_of([EdgeRecord], "#/$defs/")["EdgeRecord"]["required"]
    ['between', 'probability']
    """
    _, schemas = msgspec.json.schema_components(types, ref_template=folder + "{name}")
    return {name: _as_written(schema) for name, schema in schemas.items()}


def record_schema(record: type[Struct], rules: Mapping[str, Any], *, is_closed: bool) -> dict[str, Any]:
    """Return the whole JSON Schema of one record, its `rules` added; closed, it has no fields but the declared."""
    schemas = schemas_of([record], "#/$defs/")
    if is_closed:
        schemas = {name: {**schema, "additionalProperties": False} for name, schema in schemas.items()}
    own = schemas.pop(record.__name__)
    return {**own, **rules, **({"$defs": schemas} if schemas else {})}


def _as_written(schema: dict[str, Any]) -> dict[str, Any]:
    """Return it without defaults, which are written like all else, and without titles, which repeat the name."""
    required = [name for name, of in schema["properties"].items() if name in schema["required"] or "default" in of]
    properties = {name: _without(of, "default") for name, of in schema["properties"].items()}
    described = {**_without(schema, "title"), "description": _one_line(schema["description"])}
    return {**described, "properties": properties, "required": required}


def _one_line(docstring: str) -> str:
    return " ".join(docstring.split())


def _without(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != name}
