"""docs/explanation/window-join.md: its Python says what it shows, its queries are those graphs."""

from __future__ import annotations

import doctest
import json
import re
from typing import Any

import pytest

from coincide.queries import Query
from docs.generate import ROOT

PAGE = (ROOT / "docs/explanation/window-join.md").read_text(encoding="utf-8")
QUERIES: dict[str, dict[str, Any]] = {
    query["id"]: query for query in map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
}
GRAPHS = {"gas-cloud": "gas_cloud", "object": "cameras", "burst": "burst"}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """What the page's Python defines, after it has said what it shows."""
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "window-join.md", "docs/explanation/window-join.md", 0)
    assert len(test.examples) >= 30
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    return test.globs


def test_every_query_has_its_graph() -> None:
    assert QUERIES.keys() == GRAPHS.keys()


@pytest.mark.parametrize("name", GRAPHS)
def test_a_query_asks_what_the_python_asks(name: str, shown: dict[str, Any]) -> None:
    query_graph, graph = Query.from_json(QUERIES[name]).graph, shown[GRAPHS[name]]
    if name == "burst":  # roles of one stream there, detectors of their own here
        assert (query_graph.uniform_window, len(query_graph.roles)) == (graph.uniform_window, len(graph.roles))
    else:
        assert query_graph == graph
