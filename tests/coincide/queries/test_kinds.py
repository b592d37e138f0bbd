"""A kind of query is a class and a row in some tables; nobody branches on it."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from coincide.command.query_files import ANSWERED_BY
from coincide.fusion.control.control import IN_FORCE
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.shard import ShardState
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.queries import KINDS, Kind, query_from_json
from coincide.queries.sql import TEXTS
from deploy.host.machine import ROOT
from services.alerting.queries.judges import JUDGES
from services.console.pages.queries.query_words import WORDS

KIND_NAMES = sorted(get_args(Kind))
NAMES = {kind.__name__ for kind in KINDS} | {"ActiveQuery", "ActiveReadings", "ActiveSpells"}
FREE = ("coincide/queries", "coincide/live")  # each class of itself; an engine of its own


def test_every_kind_has_a_name_of_its_own() -> None:
    assert sorted(kind.kind for kind in KINDS) == KIND_NAMES


def test_every_kind_has_its_sql_and_its_place_in_a_shard() -> None:
    assert sorted(TEXTS) == sorted(ShardState.of(KnownStreams({}), Limits(), 0, CHEAPEST).queries.kinds) == KIND_NAMES


@pytest.mark.parametrize("table", [ANSWERED_BY, IN_FORCE, JUDGES, WORDS])
def test_a_table_of_what_some_kinds_have_of_their_own_names_kinds_alone(table: Mapping[Kind, object]) -> None:
    assert table.keys() <= set(KIND_NAMES)


def test_nobody_asks_of_which_class_a_query_is() -> None:
    paths = [path for top in ("coincide", "services", "spark_jobs", "deploy") for path in (ROOT / top).rglob("*.py")]
    asked = {f"{path.relative_to(ROOT)}:{line}" for path in paths if not _is_free(path) for line in _branches(path)}
    assert asked == set()


def _is_free(path: Path) -> bool:
    return path.relative_to(ROOT).as_posix().startswith(FREE)


def _branches(path: Path) -> list[int]:
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    asking = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    return [
        call.lineno
        for call in asking
        if NAMES & {each.id for each in ast.walk(call.args[1]) if isinstance(each, ast.Name)}
    ]


EDGE = {"between": ["a", "b"], "window_s": 2}
JOIN = {"id": "q", "from": {"a": "p", "b": "s"}, "within": [{**EDGE, "threshold": 0.3}]}
READ = {"from": "p", "value": "attributes.db", "where": {"above": 1}}
WINDOW = {**READ, "window": {"time_s": 60, "slide_s": 1}}


@pytest.mark.parametrize(
    ("document", "tells", "own_threshold"),
    [
        (JOIN, "match", 0.3),
        ({**JOIN, "joint_threshold": 0.5}, "match", 0.5),
        ({**JOIN, "coalesce": {"gap_s": 1, "by": [], "interval": "hull"}}, "episode", 0.3),
        ({"id": "q", "coalesce": WINDOW, "longest": True}, "episode", None),
        ({"id": "q", "coalesce": READ, "lasting_s": 60, "threshold": 0.7}, "episode", 0.7),
    ],
)
def test_each_kind_says_what_it_tells_and_how_probable_that_is(
    document: dict[str, object], tells: str, own_threshold: float | None
) -> None:
    query = query_from_json(document)
    assert (query.tells, query.own_threshold) == (tells, own_threshold)
    if query.kind != "windows":
        assert query.with_threshold(0.9).own_threshold == 0.9
