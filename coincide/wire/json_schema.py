"""JSON Schema of records, derived from their declarations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, inspect, structs


def schemas_of(types: Sequence[type[Struct]], folder: str) -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of records and of all that they hold, by name.

    Parameters
    ----------
    types
        Records.
    folder
        Where they refer to each other, such as ``#/$defs/``.

    Returns
    -------
    dict
        Schemas (2020-12) of what is written: a field is required unless it may be unset, or its record leaves out
        defaults.

    Examples
    --------
    >>> from coincide.wire.results.match_record import EdgeRecord
    >>> schemas_of([EdgeRecord], "#/$defs/")["EdgeRecord"]["required"]
    ['between', 'probability']
    """
    _, schemas = msgspec.json.schema_components(types, ref_template=folder + "{name}")
    leaving_out = {each.__name__ for each in _structs_in(inspect.multi_type_info(types)) if _leaves_out_defaults(each)}
    return {
        name: _portable(_without_defaults(schema) if name in leaving_out else _as_written(schema))
        for name, schema in schemas.items()
    }


def record_schema(record: type[Struct], rules: Mapping[str, Any], *, is_closed: bool) -> dict[str, Any]:
    """Return the whole JSON Schema of one record, its `rules` added; closed, it has no fields but the declared."""
    schemas = schemas_of([record], "#/$defs/")
    if is_closed:
        schemas = {name: _closed(schema) for name, schema in schemas.items()}
    own = schemas.pop(record.__name__)
    return {**own, **rules, **({"$defs": schemas} if schemas else {})}


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False} if "properties" in schema else schema


def _structs_in(content: Any) -> Iterator[type[Struct]]:
    if isinstance(content, inspect.StructType):
        yield content.cls
    if isinstance(content, inspect.Type | inspect.Field):
        content = structs.astuple(content)
    if isinstance(content, tuple):
        for each in content:
            yield from _structs_in(each)


def _leaves_out_defaults(record: type[Struct]) -> bool:
    return record.__struct_config__.omit_defaults


def _as_written(schema: dict[str, Any]) -> dict[str, Any]:
    """Return it without defaults, which are written like all else."""
    if "properties" not in schema:  # of an enumeration
        return _described(schema)
    required = [name for name, of in schema["properties"].items() if name in schema["required"] or "default" in of]
    properties = {name: _without(of, "default") for name, of in schema["properties"].items()}
    return {**_described(schema), "properties": properties, "required": required}


def _without_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record that leaves out defaults, among them each null that is one."""
    return {**_described(schema), "properties": {name: _set(of) for name, of in schema["properties"].items()}}


def _set(of: dict[str, Any]) -> dict[str, Any]:
    there = [each for each in of.get("anyOf", []) if each != {"type": "null"}]
    leaves_out_null = of.get("default", ...) is None and len(there) == 1
    rest = _without(of, "default")
    return {**_without(rest, "anyOf"), **there[0]} if leaves_out_null else rest


def _portable(schema: Any) -> Any:
    """Return it with patterns whose end every dialect knows."""
    if isinstance(schema, dict):
        return {
            key: of.replace(r"\Z", "$") if key == "pattern" and isinstance(of, str) else _portable(of)
            for key, of in schema.items()
        }
    return [_portable(each) for each in schema] if isinstance(schema, list) else schema


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return it without its title, which repeats the name."""
    return {**_without(schema, "title"), "description": _one_line(schema["description"])}


def _one_line(docstring: str) -> str:
    return " ".join(docstring.split())


def _without(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != name}
