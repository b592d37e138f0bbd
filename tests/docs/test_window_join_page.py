"""docs/explanation/window-join.md: its Python says what it shows, its queries are those graphs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coincide.queries import Query
from docs.generate import ROOT
from tests.docs.sessions import blocks, defined_by

PATH = ROOT / "docs/explanation/window-join.md"
PAGE = PATH.read_text(encoding="utf-8")
QUERIES: dict[str, dict[str, Any]] = {query["id"]: query for query in map(json.loads, blocks(PAGE, "json"))}
GRAPHS = {"gas-cloud": "gas_cloud", "object": "cameras", "burst": "burst"}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """What the page's Python defines, after it has said what it shows."""
    return defined_by(PAGE, PATH, 30)


def test_every_query_has_its_graph() -> None:
    assert QUERIES.keys() == GRAPHS.keys()


@pytest.mark.parametrize("name", GRAPHS)
def test_a_query_asks_what_the_python_asks(name: str, shown: dict[str, Any]) -> None:
    query_graph, graph = Query.from_json(QUERIES[name]).graph, shown[GRAPHS[name]]
    if name == "burst":  # roles of one stream there, detectors of their own here
        assert (query_graph.uniform_window, len(query_graph.roles)) == (graph.uniform_window, len(graph.roles))
    else:
        assert query_graph == graph
