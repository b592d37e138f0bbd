"""Records of coincide.queries that are of a query: a version of it, or its removal."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, json

from coincide.wire.fields import FormatVersion, Microseconds, Version
from coincide.wire.results.result_fields import QueryId


class QueryRecord(Struct, frozen=True, kw_only=True):
    """A query as it is from a version on, or its removal. Key: the query's id.

    The topic is compacted and is the truth; versions are never reused.
    """

    v: FormatVersion = 1
    id: QueryId
    version: Annotated[Version, Meta(description="Grows with each change, and is never given twice.")]
    changed_at_us: Annotated[
        Microseconds, Meta(description="When the change was accepted, microseconds since the epoch, UTC.")
    ]
    paused: Annotated[bool | UnsetType, Meta(description="True: matches completed now are never emitted.")] = UNSET
    removed: Annotated[bool | UnsetType, Meta(description="True: there is no such query from now on.")] = UNSET
    query: Annotated[
        Raw | UnsetType,
        Meta(description="A removal has none.", extra_json_schema={"$ref": "query.schema.json"}),
    ] = UNSET

    def __post_init__(self) -> None:
        if bool(self.removed) == (self.query is not UNSET):
            raise ValueError("either removed is true or query is given")

    @property
    def key(self) -> bytes:
        """The record's key."""
        return self.id.encode()

    @property
    def document(self) -> Any:
        """The query as its JSON says; None of a removal."""
        return None if isinstance(self.query, UnsetType) else json.decode(self.query)

    def to_record(self) -> bytes:
        """Return the record's value."""
        return json.encode(self)


#: What JSON Schema says of a record of a query beyond its fields.
QUERY_RULES: Mapping[str, object] = {
    "oneOf": [{"required": ["query"]}, {"required": ["removed"], "properties": {"removed": {"const": True}}}]
}

decode_query = json.Decoder(QueryRecord).decode


def put_record(id_: str, version: int, changed_at_us: int, query: Any, *, paused: bool = False) -> QueryRecord:
    """Return the record by which a query, as its JSON says, is in force from a version on."""
    document = Raw(json.encode(query))
    return QueryRecord(id=id_, version=version, changed_at_us=changed_at_us, paused=paused, query=document)
