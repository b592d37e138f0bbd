"""The demo's programme: what it posts and awaits, and what it prints of 1987 and of a harbour of now."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Protocol

import httpx2

from coincide.queries import Query
from services.demo.harbour import BANG
from services.demo.sn1987a import (
    ANY_TWO,
    DETECTORS,
    QUERIES,
    SUPERNOVA,
    bursts,
    expected_matches,
    explanation,
    one_event_sentences,
    posts,
    table_of,
)

OF_NOW = """\
Now, in a harbour: every few seconds there is a bang, and three microphones may hear it (made up).
P: how probable it is, by their clocks alone, that those named here heard it within 2 s of each other."""

_NEWEST = 20
_WATCH_EVERY_S = 1.0


class DemoError(Exception):
    """The demo cannot go on; the message is one sentence and says what to do."""


class DemoSystem(Protocol):
    """The line that the demo is shown on, as it is reached, and what a person does who is stuck."""

    afresh: str  # how one starts with nothing
    logs: str  # where one reads on

    @property
    def ingest(self) -> httpx2.Client:
        """A client of ingest."""

    @property
    def alerting(self) -> httpx2.Client:
        """A client of alerting."""

    def wait(self, is_so: Callable[[], bool]) -> str | None:
        """Return None as soon as ``is_so()`` holds; else what the system did, once it is in vain."""


def show_1987(system: DemoSystem) -> None:
    """Post the detections of 1987, unless an earlier demo has, wait for what they show and print it."""
    supernova = applied_query(system, SUPERNOVA)
    queries = {id_: applied_query(system, id_) for id_ in QUERIES}
    post_all(system, set(DETECTORS) - detectors_in(matches_of(system, ANY_TWO, superseded="any")))
    matches = {id_: wait_for_matches(system, id_, expected_matches(query)) for id_, query in queries.items()}
    print("SN1987A, 1987-02-23 07:35 UT: three detectors, three clocks that disagree\n")
    print(one_event_sentences(the_supernova(system), supernova) + "\n")
    print("Of the single neutrinos, P says how well their times fit, by the clocks alone:\n")
    print(table_of(queries, matches))
    print(explanation(queries[ANY_TWO].window.hi_s))


def the_supernova(system: DemoSystem) -> dict[str, Any]:
    """Post the bursts, unless an earlier demo has; return their match once it has evidence.

    They are posted after all neutrinos, which would be late by then.
    """
    if not matches_of(system, SUPERNOVA, superseded="any"):
        _refuse_unless_accepted("the bursts", _post(system, bursts()))
    if why := system.wait(lambda: any(each["evidence"] for each in matches_of(system, SUPERNOVA))):
        raise DemoError(f"no match of query {SUPERNOVA} has evidence, and the system {why}; {system.logs}")
    [match] = matches_of(system, SUPERNOVA)
    return match


def addresses(ingest: str, alerting: str) -> list[str]:
    """Return a line for each thing that a person may ask for, with its address."""
    return [
        f"matches      {alerting}/v1/matches?query={SUPERNOVA}",
        f"episodes     {alerting}/v1/episodes?query={SUPERNOVA}",
        f"live stream  {alerting}/v1/live?query={BANG}",
        f"queries      {alerting}/v1/queries",
        f"sensors      {ingest}/v1/sensors",
    ]


def new_bangs(system: DemoSystem, since_us: int) -> Iterator[Mapping[str, Any]]:
    """Yield each match of the harbour that ingest had in hand at ``since_us`` or later, as they come; never ends.

    The first is waited for as long as the system has patience.
    """
    if why := system.wait(lambda: bool(_newest_bangs(system, since_us))):
        raise DemoError(f"no match of query {BANG} came, and the system {why}; {system.logs}")
    printed: set[str] = set()
    while True:
        newest = _newest_bangs(system, since_us)
        yield from (match for match in reversed(newest) if match["id"] not in printed)
        printed = {match["id"] for match in newest} or printed
        time.sleep(_WATCH_EVERY_S)


def _newest_bangs(system: DemoSystem, since_us: int) -> list[dict[str, Any]]:
    """Return the newest matches, superseded ones too, the newest first; none while alerting does not answer."""
    try:
        answer = system.alerting.get("/v1/matches", params={"query": BANG, "superseded": "any", "limit": _NEWEST})
    except httpx2.HTTPError:
        return []
    matches = answer.json()["items"] if answer.status_code == httpx2.codes.OK else []
    return [match for match in matches if match["received_at_us"] >= since_us]


def bang_sentence(match: Mapping[str, Any]) -> str:
    """Say in a line who heard a bang, when it was and how sure that is; ``match`` as GET /v1/matches serves it."""
    occurred_us = match["occurred"]["mean_us"] if match["occurred"] else match["earliest_us"]
    when = datetime.fromtimestamp(occurred_us / 1e6, UTC)
    sensors = " + ".join(sorted(member["sensor"] for member in match["members"]))
    more = "  supersedes the match of two" if match.get("supersedes") else ""
    return f"{when:%H:%M:%S} UTC  {sensors:<21}  P = {match['probability']:.2f}{more}"


def applied_query(system: DemoSystem, id_: str) -> Query:
    """Return one of the demo's queries once the fusion job has applied it."""
    if why := system.wait(lambda: _is_applied(_query(system, id_))):
        raise DemoError(
            f"fusion has not applied query {id_}, and the system {why}; was it removed, or was this system "
            f"first started before the demo had it? {system.afresh}"
        )
    return Query.from_json(_query(system, id_)["query"])


def _query(system: DemoSystem, id_: str) -> dict[str, Any]:
    answer = system.alerting.get(f"/v1/queries/{id_}")
    return dict(answer.json()) if answer.status_code == httpx2.codes.OK else {}


def _is_applied(query: dict[str, Any]) -> bool:
    return bool(query) and query["applied_version"] == query["version"]


def detectors_in(matches: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the detectors that are in some match: what they saw has been posted, and would be late by now."""
    return {member["sensor"] for match in matches for member in match["members"]}


def post_all(system: DemoSystem, detectors: Collection[str] = tuple(DETECTORS)) -> None:
    """Post as the gateways would, all at once; a `DemoError` where ingest does not accept everything."""
    wanted = [(sensor, body) for sensor, body in posts().items() if sensor in detectors]
    with ThreadPoolExecutor(len(DETECTORS)) as gateways:
        for sensor, answer in gateways.map(lambda post: (post[0], _post(system, post[1])), wanted):
            _refuse_unless_accepted(f"the detections of {sensor}", answer)


def _post(system: DemoSystem, body: bytes) -> httpx2.Response:
    headers = {"Content-Type": "application/x-ndjson"}
    return system.ingest.post("/v1/detections", content=body, headers=headers)


def _refuse_unless_accepted(what: str, answer: httpx2.Response) -> None:
    if answer.status_code != httpx2.codes.ACCEPTED:
        raise DemoError(f"ingest answered {answer.status_code} to {what}: {answer.text}")


def wait_for_matches(system: DemoSystem, query: str, expected: set[frozenset[str]]) -> list[dict[str, Any]]:
    """Return every live match of a query once those between the detections in ``expected`` are served."""
    if why := system.wait(lambda: expected <= _ids(matches_of(system, query))):
        came = len(expected & _ids(matches_of(system, query)))
        raise DemoError(
            f"{came} of {len(expected)} matches came, and the system {why}; was query {query} changed, "
            f"paused or removed after the detections were first posted? {system.afresh}"
        )
    return matches_of(system, query)


def _ids(matches: list[dict[str, Any]]) -> set[frozenset[str]]:
    return {frozenset(member["id"] for member in match["members"]) for match in matches}


def matches_of(system: DemoSystem, query: str, **filters: str) -> list[dict[str, Any]]:
    """Return every match of a query, page by page; live ones unless ``filters`` say otherwise."""
    matches: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        parameters = {"query": query, "limit": "1000", **filters, **cursor}
        page = system.alerting.get("/v1/matches", params=parameters).json()
        matches += page["items"]
        if page["next_cursor"] is None:
            return matches
        cursor = {"cursor": page["next_cursor"]}
