"""What the shards of the fusion job, together, say of one query."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from services.alerting.records import ShardStatus
from services.alerting.store.query_rows import applied_version, read_status


@dataclass(frozen=True)
class QueryReport:
    """Of one query: the version that every shard has applied, the episode records given, how it is coalesced.

    None where the shards do not say.
    """

    applied_version: int | None = None
    episodes: int | None = None
    coalescing: dict[str, object] | None = None

    @classmethod
    def of(cls, shards: Sequence[ShardStatus], id_: str) -> "QueryReport":
        """Put together what `shards` say of the query `id_`; how it is coalesced, the first that says so decides."""
        said = [shard.queries[id_] for shard in sorted(shards, key=lambda shard: shard.shard) if id_ in shard.queries]
        counts = [each.episodes for each in said if each.episodes is not None]
        coalescing = next((each.coalescing for each in said if each.coalescing is not None), None)
        return cls(applied_version(shards, id_), sum(counts) if counts else None, coalescing)


def read_report(connection: Connection, id_: str) -> QueryReport:
    """Return what the shards say of the query `id_`."""
    return QueryReport.of(read_status(connection), id_)
