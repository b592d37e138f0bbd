"""The pages on queries: what they show is accepted and read, their graphs and the live stream's events are those."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coincide.queries import Query, ReadingsQuery, SpellQuery, query_from_json
from coincide.queries.language.grammar import KEYWORDS
from coincide.queries.sql import query_from_sql, sql_of
from coincide.sliding.questions import Lasting, Longest, Similar
from coincide.wire.results.episode_record import RETRACTED
from docs.generate import ROOT
from services.alerting.api.query_models import Threshold
from services.alerting.live.event_stream import event_of, events_of
from services.alerting.store.episode_rows import StoredEpisode
from services.alerting.store.match_rows import StoredMatch
from tests.docs.sessions import blocks, defined_by

WRITE, READ = ((ROOT / f"docs/how-to/{page}.md").read_text("utf-8") for page in ("write-a-query", "read-results"))
COALESCING, JOINING = (ROOT / f"docs/explanation/{page}.md" for page in ("coalescing", "window-join"))
SHOWN: list[dict[str, Any]] = [json.loads(block) for block in blocks(WRITE, "json")]
OF_COALESCING: list[dict[str, Any]] = [json.loads(block) for block in blocks(COALESCING.read_text("utf-8"), "json")]
QUERIES = {document["id"]: document for document in SHOWN if "id" in document}
EVENTS = blocks(READ, "text")
GRAPHS = {"gas-cloud": "gas_cloud", "object": "cameras", "burst": "burst"}
FORMS = {
    "intruder": "binary",
    "loud-shots": "binary",
    "burst": "clique",
    "gas-cloud": "path",
    "object": "graph",
    "seen-and-heard": "graph",
}


def test_there_is_a_query_of_every_form() -> None:
    queries = {id_: query_from_json(document) for id_, document in QUERIES.items()}
    assert {id_: query.graph.form for id_, query in queries.items() if isinstance(query, Query)} == FORMS
    asked = {id_: type(query.question) for id_, query in queries.items() if isinstance(query, ReadingsQuery)}
    assert asked == {"hot": Longest, "steady": Lasting, "alike": Similar}
    assert isinstance(queries["too-hot"], SpellQuery)


@pytest.mark.parametrize("document", [*QUERIES.values(), *OF_COALESCING], ids=lambda document: document["id"])
def test_contract_and_api_accept_every_query(document: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8"))
    openapi = json.loads((ROOT / "docs/contracts/alerting.openapi.json").read_text(encoding="utf-8"))
    in_body = {**openapi, "$ref": "#/components/schemas/QueryDocument"}
    query = query_from_json(document)
    for written in (document, query.to_json()):
        assert [error.message for error in Draft202012Validator(schema).iter_errors(written)] == []
        without_id = {name: value for name, value in written.items() if name != "id"}
        assert [error.message for error in Draft202012Validator(in_body).iter_errors(without_id)] == []
    if document in OF_COALESCING and isinstance(query, Query):
        assert query.coalesce is not None
        assert query.coalesce.to_json() == document["coalesce"]


def test_each_way_to_change_a_threshold_is_shown_and_read() -> None:
    bodies = [document for document in SHOWN if "id" not in document]
    assert [set(body) for body in bodies] == [{"threshold"}, {"between", "threshold"}, {"joint_threshold"}]
    for body in bodies:
        Threshold.model_validate(body)


def test_the_live_stream_says_what_is_shown() -> None:
    pair = StoredMatch(1, "m-2", "q", "sky", 0, '{"id":"m-2"}', None)
    triple = StoredMatch(2, "m-3", "q", "sky", 0, '{"id":"m-3","supersedes":["m-2"]}', None, ["m-2"])
    assert events_of(pair, is_shown=True) + events_of(triple, is_shown=True) == EVENTS[0]


def test_the_live_stream_says_what_is_shown_of_episodes() -> None:
    grown = '{"id":"e-1","revision":40,"count":2,"open":true,"final":false}'
    gone = '{"id":"e-2","revision":40,"retracted":true,"replaced_by":["e-1"]}'
    episodes = [StoredEpisode(3, "e-1", "q", "sky", 0, grown), StoredEpisode(4, "e-2", "q", "sky", RETRACTED, gone)]
    assert "".join(event_of(each) for each in episodes) == EVENTS[1]


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """What the Python on window joins defines, after it has said what it shows."""
    return defined_by(JOINING.read_text("utf-8"), JOINING, 30)


def test_queries_of_window_joins_ask_what_the_python_asks(shown: dict[str, Any]) -> None:
    queries = [Query.from_json(json.loads(block)) for block in blocks(JOINING.read_text("utf-8"), "json")]
    assert {query.id for query in queries} == GRAPHS.keys()
    for query in queries:
        graph = shown[GRAPHS[query.id]]
        if query.id == "burst":  # roles of one stream there, detectors of their own here
            assert query.graph.uniform_window == graph.uniform_window
            assert len(query.roles) == len(graph.roles)
        else:
            assert query.graph == graph, query.id


LANGUAGE = (ROOT / "docs/reference/query-language.md").read_text("utf-8")
AS_SQL = re.findall(r"```sql\n(.*?)```\n\n```json\n(.*?)```", LANGUAGE, re.DOTALL)


def test_every_sql_of_the_reference_has_its_json_beside_it() -> None:
    assert len(AS_SQL) == len(blocks(LANGUAGE, "sql")) >= 9
    assert {type(query_from_sql(text, "q")) for text, _ in AS_SQL} == {Query, ReadingsQuery, SpellQuery}
    shown = " ".join(text for text, _ in AS_SQL)
    keywords = {keyword for keyword in KEYWORDS if not re.search(rf"\b{keyword}\b", shown, re.IGNORECASE)}
    assert [keyword for keyword in sorted(keywords) if not re.search(rf"`[^`]*\b{keyword}\b[^`]*`", LANGUAGE)] == []


@pytest.mark.parametrize(("text", "document"), AS_SQL, ids=range(len(AS_SQL)))
def test_the_sql_of_the_reference_is_the_json_beside_it(text: str, document: str) -> None:
    query = query_from_json({"id": "q", **json.loads(document)})
    assert query_from_sql(text, "q") == query
    assert query_from_sql(sql_of(query), "q") == query


def test_the_sql_of_the_how_to_is_its_first_query() -> None:
    [text] = blocks(WRITE, "sql")
    assert query_from_sql(text, "intruder") == query_from_json(QUERIES["intruder"])


@pytest.mark.parametrize("document", [*QUERIES.values(), *OF_COALESCING], ids=lambda document: document["id"])
def test_every_query_of_the_pages_has_an_sql_text(document: dict[str, Any]) -> None:
    query = query_from_json(document)
    assert query_from_sql(sql_of(query), query.id) == query
