"""Documents that people write: queries as JSON and SQL, templates, sensors, streams, receivers, runs, and cursors."""

import base64
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError, QueryError
from coincide.queries import query_from_json
from coincide.queries.sql import query_from_sql, sql_of
from coincide.templates.histogram import Histogram
from services.alerting.api.request_documents import _document_of
from services.alerting.exports.result_formats import best_liked
from services.alerting.queries.judgement import refuse_hopeless, warnings
from services.alerting.records.receiver import receiver_from_json
from services.alerting.store.query_rows import QueryReport
from services.common.http.pages import decode_cursor, decode_name_cursor, encode_cursor
from services.common.http.preconditions import Precondition, merge_patch
from services.common.http.problem import Problem
from services.common.http.strict_requests import json_in
from services.history.replaying.request import LearningRequest, RunError, RunRequest, request_in
from services.history.runs.run_server import read_learning, read_request
from services.ingest.clocks.clock_changes import clocks_of
from services.ingest.http.sensor_bulk import _read
from services.ingest.registry.stream_changes import stream_resource
from services.ingest.templates.template_changes import templates_of
from tests.coincide.fusion.saving.saved_states import QUERIES
from tests.services.alerting.clients import STREAMS
from tests.services.ingest.building import SENSORS, registry_of
from trials.fuzz.target import BrokenLaw, Target

FILTERS = ("matches", "q", None)
SQL = (
    "SELECT * FROM SEISMIC A, ACOUSTIC B WHERE WINDOW(A, B) = 2000 WITH THRESHOLD 0.6",
    "SELECT s.region, MAX(CAST(VALID(s.celsius) AS INTERVAL HOUR)) FROM temperature AS s RANGE 24 HOUR SLIDES 1 HOUR "
    "WHERE s.celsius > 100",
)
ALERT = {"severity": [[0.9, "critical"]], "title": "{area}", "labels": {"team": "a"}, "to": ["ops"], "max_per_hour": 5}
JOIN = {
    "id": "q",
    "from": {
        "a": "seismic",
        "b": {"stream": "acoustic", "where": {"attributes.is": {"above": 4}}, "sensors": ["mic-*"]},
    },
    "within": [{"between": ["a", "b"], "lo_s": -1.5, "hi_s": 2.0, "threshold": 0.6}],
    "equal": "attributes.object",
    "sensors": "any",
    "coalesce": {"gap_s": 60, "by": ["a.sensor", "attributes.object"]},
    "alert": ALERT,
    "limits": {"max_matches_per_s": 1},
}
CLIQUE = {
    "id": "valley",
    "from": {"s": "seismic", "a": "acoustic", "b": "acoustic"},
    "within": [{"window_s": 2.0, "threshold": 0.5}],
    "form": "clique",
    "at_least": {"of": ["a", "b"], "count": 1},
    "joint_threshold": 0.1,
}


BUSY = QueryReport(busiest_hz=dict.fromkeys(STREAMS, 10.0))


def _query(body: bytes) -> None:
    try:
        query = query_from_json(json_in(body))
    except (Problem, QueryError):
        return
    again = query_from_json(json.loads(json.dumps(query.to_json())))
    if again != query:
        raise BrokenLaw(f"{again} was written, and {query} read")
    try:
        as_sql = sql_of(query)
    except QueryError:
        return
    if query_from_sql(as_sql, query.id) != query:
        raise BrokenLaw(f"another query is read from {as_sql}")
    warnings(query.to_json(), BUSY, STREAMS)
    if set(query.streams) <= STREAMS.keys():
        _refused(lambda: refuse_hopeless(query, BUSY, STREAMS))


def _refused(take: Callable[[], object], *refusals: type[Exception]) -> Any:
    """Return what it gives; None where it is refused in the way that is told."""
    with suppress(Problem, *refusals):
        return take()
    return None


def _sql(body: bytes) -> None:
    document = _refused(lambda: _document_of(body, "q"))
    if document is not None and query_from_json(document).to_json() != document:
        raise BrokenLaw(f"{document} is not read as it was written")


def _cursor(body: bytes) -> None:
    cursor = body.decode("utf-8", "replace")
    for decode in (decode_cursor, decode_name_cursor):
        _refused(lambda: decode(FILTERS, cursor))  # noqa: B023 - it is called at once
    _refused(lambda: Precondition.parse(cursor, None))
    best_liked(cursor, {"text/csv": "csv", "application/json": "json"})


class _Changes:
    """What the reading of many sensors asks of those who change them."""

    registry = registry_of()


def _template(body: bytes) -> None:
    form = _refused(lambda: msgspec.json.decode(body), msgspec.DecodeError, UnicodeDecodeError, RecursionError)
    made: Histogram | None = _refused(lambda: template_of_form(form), HistogramError)
    _refused(lambda: templates_of(_Changes.registry).read("clock", form))
    if made is not None and Histogram.from_json(json.loads(json.dumps(made.to_json()))).id != made.id:
        raise BrokenLaw("another template is read than was written")


def _clock(body: bytes) -> None:
    clocks = clocks_of(_Changes.registry)
    document = _refused(lambda: msgspec.json.decode(body), msgspec.DecodeError, UnicodeDecodeError, RecursionError)
    clock = _refused(lambda: clocks.read("gateway", document))
    if clock is not None and clocks.read("gateway", json.loads(json.dumps(clock.document))) != clock:
        raise BrokenLaw("another clock is read than was written")


def _sensors(body: bytes) -> None:
    document = _refused(lambda: msgspec.json.decode(body), msgspec.DecodeError, UnicodeDecodeError, RecursionError)
    read = _refused(lambda: _read(document, _Changes()))  # type: ignore[arg-type]
    for each in read[0] if read else ():
        each.sensor.to_record()
    for each in read[1] if read else ():
        each.model_dump_json()
    _refused(lambda: stream_resource(_Changes.registry).read("seismic", document, None))
    json.dumps(merge_patch({"a": {"b": 1}}, document))


def _receiver(body: bytes) -> None:
    receiver = _refused(lambda: receiver_from_json("ops", json_in(body)))
    if receiver is not None:
        json.dumps(receiver.shown())


def _run(body: bytes) -> None:
    """Read what history is asked: over HTTP, and from the folder of a run."""
    document = _refused(lambda: json.loads(body), ValueError, RecursionError)
    if not isinstance(document, dict):
        return
    query = query_from_json(CLIQUE)
    for read in (lambda: read_request(document, lambda _: query, "archive"), lambda: read_learning(document)):
        made: RunRequest | LearningRequest | None = _refused(read, RunError)
        if made is not None:
            _ = made.id
            if request_in(json.loads(json.dumps(made.to_json()))) != made:
                raise BrokenLaw("another request is read than was written")
    _refused(lambda: request_in(document), RunError)


def _seeds(*documents: object) -> Callable[[], Sequence[bytes]]:
    return lambda: [each.encode() if isinstance(each, str) else json.dumps(each).encode() for each in documents]


def _sql_seeds() -> Sequence[bytes]:
    return [each.encode() for each in (*SQL, *(sql_of(query_from_json(each)) for each in (JOIN, CLIQUE, *QUERIES)))]


def _run_seeds() -> Sequence[bytes]:
    times = {"from": "2026-11-22T09:30:00Z", "to": "2026-11-22T10:30:00+00:00"}
    learning = {**times, "within": [-1, 1], "buckets": 8, "reference_stream": "p", "streams": ["s"], "area": "bay"}
    asked = {"query": "q", **times, "min_threshold": 0.5, "warm_up_s": 5, "keeps_matches": False}
    request = RunRequest(
        query_from_json(CLIQUE), 0, 10**9, source="archive", as_live=False, min_threshold=None, warm_up_s=None
    )
    return [
        *_seeds(
            asked,
            learning,
            {**times, "query": "q", "as_live": True, "source": "topic"},
            request.to_json(),
            LearningRequest(0, 10**9).to_json(),
        )()
    ]


FORMS = (
    {"uniform": [-1, 1]},
    {"normal": {"sigma_s": 0.5, "buckets": 16}},
    {"latency": [[0, 10, 0.6], [10, 20, 0.4]]},
    {"point": True},
    {"edges_s": [-1, 0, 2], "mass": [0.25, 0.75]},
)
CLOCKS = ({"error": FORMS[0]}, {"id": "gateway", "label": "on the roof", "error": FORMS[4]})
BULK = {
    "templates": {"clock": FORMS[0], "good": FORMS[1]},
    "sensors": [
        {
            "id": "new",
            "area": "bay",
            "streams": {"seismic": "clock"},
            "labels": {"a": "b"},
            "place": {"lat": 1, "lon": 2},
        },
        {"id": "own", "area": "bay", "streams": {"acoustic": FORMS[4]}, "expect_every_s": 60, "model": "H-2"},
        {**SENSORS["geo"].document, "streams": {"seismic": "nowhere"}},
    ],
}
WAYS = (
    {"webhook": {"url": "https://example.org/a?b=c", "secret": "whsec_" + base64.b64encode(b"x" * 32).decode()}},
    {"alertmanager": {"url": "http://127.0.0.1:9093", "repost_s": 60}, "system": False},
    {"people": {"urls": ["mailto://user:password@example.org"]}},
)
TARGETS = (
    Target(
        "documents/queries as json",
        "a problem, or a query that is read again from its JSON and its SQL",
        _query,
        _seeds(JOIN, CLIQUE, *QUERIES),
    ),
    Target("documents/queries as sql", "a problem, or a query whose JSON is read again", _sql, _sql_seeds),
    Target(
        "documents/cursors",
        "a problem, or a place",
        _cursor,
        lambda: [encode_cursor(FILTERS, place).encode() for place in (7, "name")] + [b'"3", *', b"text/csv;q=0.5, */*"],
    ),
    Target("documents/templates", "a refusal, or a template that is read again", _template, _seeds(*FORMS)),
    Target("documents/clocks", "a refusal, or a clock that is read again", _clock, _seeds(*CLOCKS)),
    Target(
        "documents/sensors",
        "a problem, or a verdict on each",
        _sensors,
        _seeds(BULK, {"max_delay_s": 5, "longest_template_s": 8}),
    ),
    Target("documents/receivers", "a problem, or a receiver that can be shown", _receiver, _seeds(*WAYS)),
    Target("documents/run requests", "an error that says why, or a request that is read again", _run, _run_seeds),
)
