"""Which match superseded which: a relation of its own, so that matches stay as they were written.

A match is live unless the relation names it. So it does not matter which of the two records comes first, whether
one comes twice, or whether what is named was ever stored.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import Connection, Row, select

from services.alerting.records import Match
from services.alerting.store.dialect import insert_ignoring_duplicates
from services.alerting.store.tables import matches, supersessions


def insert_supersessions(connection: Connection, records: Iterable[Match]) -> Mapping[str, Sequence[str]]:
    """Keep what `records` supersede; return, by superseding match, the ids for which it is the first to do so."""
    rows: dict[str, dict[str, object]] = {}
    for record in records:
        for id_ in record.supersedes:
            row = {"superseded": id_, "superseded_by": record.id, "received_at_us": record.received_at_us}
            rows.setdefault(id_, row)
    if not rows:
        return {}
    pair = supersessions.c.superseded_by, supersessions.c.superseded
    statement = insert_ignoring_duplicates(connection, supersessions).returning(*pair)
    return _grouped(connection.execute(statement, list(rows.values())))


def read_supersessions(connection: Connection, by: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return, by superseding match, the ids that the matches `by` were the first to supersede."""
    pair = supersessions.c.superseded_by, supersessions.c.superseded
    return _grouped(connection.execute(select(*pair).where(pair[0].in_(by))))


def read_superseded_since(connection: Connection, sequence: int) -> dict[str, str]:
    """Return which of the matches stored from `sequence` on are superseded, and by which."""
    of_match = supersessions.c.superseded == matches.c.id
    pairs = select(matches.c.id, supersessions.c.superseded_by).join(supersessions, of_match)
    rows = connection.execute(pairs.where(matches.c.sequence >= sequence))
    return {row.id: row.superseded_by for row in rows}


def _grouped(rows: Iterable[Row[str, str]]) -> dict[str, list[str]]:
    superseded: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(rows):
        superseded[row.superseded_by].append(row.superseded)
    return dict(superseded)
