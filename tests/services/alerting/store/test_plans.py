"""Every list goes along an index of the large tables, and one of no time in the order in which it is answered."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from services.alerting.store import (
    alert_rows,
    dead_letter_rows,
    delivery_rows,
    episode_rows,
    episode_sureness,
    live_rows,
    match_rows,
)
from services.alerting.store.alert_rows import AlertFilter
from services.alerting.store.dead_letter_rows import DeadLetterFilter
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.evidence_rows import EvidenceFilter
from services.alerting.store.live_rows import RowFilters
from services.alerting.store.match_rows import MatchFilter, SurestPlace
from services.alerting.store.query_rows import unknown_queries
from tests.services.alerting.sample_records import (
    Database,
    dead_letter_record,
    episode_record,
    evidence_record,
    match_record,
    ruled,
)

LARGE = (
    "matches",
    "evidence",
    "episodes",
    "episode_revisions",
    "episode_sureness",
    "alerts",
    "alert_transitions",
    "deliveries",
    "dead_letters",
)
TEMPORARY = "USE TEMP B-TREE FOR ORDER BY"
LEAST = {"min_probability": 0.5, "min_posterior": 0.5}
TIMES = {"from_us": 100, "to_us": 200}

Read = Callable[[Connection], Any]


def lists(module: Any, filter_: type[Any], **conditions: Any) -> dict[str, Read]:
    """How a list is read: with each condition alone, and with all of them."""
    each = [{}, *({name: value} for name, value in conditions.items()), conditions, {**conditions, **TIMES}, TIMES]
    of = module.__name__.rpartition(".")[2]
    return {
        f"{of}: {', '.join(some) or 'all'}{', on' if before else ''}": partial(
            module.read_newest_first, filters=filter_(**some), before=before, limit=101
        )
        for some in each
        for before in (None, 2**40)
    }


READS: dict[str, Read] = {
    **lists(
        match_rows,
        MatchFilter,
        query="q",
        area="bay",
        sensor="s",
        min_probability=0.5,
        superseded=False,
        min_posterior=0.5,
    ),
    **{
        f"the surest{', on' if before else ''}: {', '.join(some) or 'all'}": partial(
            match_rows.read_surest_first, filters=MatchFilter(**some), before=before, limit=101
        )
        for before in (None, SurestPlace(0.5, 7, 2**40))
        for some in ({}, {"query": "q"}, {"min_posterior": 0.5}, {"query": "q", "min_posterior": 0.5}, {"sensor": "s"})
    },
    **lists(
        episode_rows,
        EpisodeFilter,
        query="q",
        area="bay",
        min_probability=0.5,
        state="open",
        retracted=False,
        min_posterior=0.5,
    ),
    **{
        f"the surest episodes{', on' if before else ''}: {', '.join(some) or 'all'}": partial(
            episode_sureness.read_surest_first, filters=EpisodeFilter(**some), before=before, limit=101
        )
        for before in (None, SurestPlace(0.5, 7, 2**40))
        for some in ({}, {"query": "q"}, {"min_posterior": 0.5}, {"query": "q", "min_posterior": 0.5})
    },
    **lists(alert_rows, AlertFilter, query="q", area="bay", kind="match", severity="warning", state="firing"),
    **lists(dead_letter_rows, DeadLetterFilter, reason="late", area="bay", sensor="s", source="fusion"),
    "one match": partial(match_rows.read_match, id_="m-1"),
    "one episode": partial(episode_rows.read_episode, id_="e-1"),
    "one alert": partial(alert_rows.read_alert, id_="a-1"),
    "revisions": partial(episode_rows.read_revisions, id_="e-1", before=None, limit=101),
    "transitions": partial(alert_rows.read_transitions, id_="a-1", before=2**40, limit=101),
    "deliveries": partial(delivery_rows.read_newest_first, receiver="ops", state=None, before=None, limit=101),
    "dead deliveries": partial(delivery_rows.read_newest_first, receiver="ops", state="dead", before=None, limit=101),
    "what waits": partial(delivery_rows.read_waiting, receiver="ops", without=["k"], limit=50),
    "known queries": partial(unknown_queries, ids=["nobody"]),
    "the newest sequence": live_rows.newest_sequence,
    **{
        f"the live stream: {name}": partial(live_rows.read_page, filters=[RowFilters(*each)], after=7, upto=2**40)
        for name, each in {
            "everything": (MatchFilter(), EvidenceFilter(), EpisodeFilter(), AlertFilter()),
            "of a query": (MatchFilter(query="q"), EvidenceFilter(query="q"), None, None),
        }.items()
    },
}


@pytest.fixture
def stored(database: Database) -> Engine:
    database.store([ruled("intruder", to=["ops"]), dead_letter_record()])
    database.store([match_record(f"m-{n}") for n in range(50)] + [episode_record(f"e-{n}") for n in range(50)])
    database.store([evidence_record(f"m-{n}", n / 50) for n in range(50)])
    return database.engine


def test_every_list_goes_along_an_index(stored: Engine) -> None:
    steps = of_postgresql if stored.dialect.name == "postgresql" else of_sqlite
    found = {}
    for name, read in READS.items():
        with stored.connect() as connection:
            statements = statements_of(connection, read)
        assert statements, name
        with stored.connect() as connection:
            found[name] = [step for each in statements for step in steps(connection, *each)]
            if "from_us" in name:  # it may also look up the time, and put in order what it finds there
                found[name] = [step for step in found[name] if step != TEMPORARY]
    assert {name: steps for name, steps in found.items() if steps} == {}


def statements_of(connection: Connection, read: Read) -> list[tuple[str, Any]]:
    """What `read` has the database do, with parameters."""
    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        statements.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    read(connection)
    return statements


def of_sqlite(connection: Connection, statement: str, parameters: Any) -> list[str]:
    """Steps that read a large table whole, or sort. To walk it in the order of its key is to go along an index."""
    plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    whole = [
        step for step in plan if step.startswith(tuple(f"SCAN {table}" for table in LARGE)) and "INDEX" not in step
    ]
    ordered = "ORDER BY matches.sequence" in statement or "ORDER BY dead_letters.sequence" in statement
    return [step for step in plan if "TEMP B-TREE" in step] + ([] if ordered else whole)


def of_postgresql(connection: Connection, statement: str, parameters: Any) -> list[str]:
    """The same steps, where it may choose freely but for these: so few rows it would rather read whole."""
    for way in ("seqscan", "bitmapscan", "sort"):
        connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
    [[plan]] = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalars()
    return [
        f"{node['Node Type']} of {node.get('Relation Name')}"
        for node in nodes(plan["Plan"])
        if "Sort" in node["Node Type"] or (node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE)
    ]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A plan's step and all below it."""
    return [plan, *(node for each in plan.get("Plans", []) for node in nodes(each))]
