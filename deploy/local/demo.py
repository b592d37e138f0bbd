"""The demo: the real system on the neutrinos of SN1987A, and on what three microphones of a harbour hear now."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import httpx2
from rich.console import Console

from coincide.queries import Query
from deploy.host.machine import LocalError
from deploy.host.patience import Patience
from deploy.local.harbour import BANG
from deploy.local.sn1987a import (
    ANY_TWO,
    DETECTORS,
    QUERIES,
    TWO_OF_THREE,
    episode_sentence,
    expected_matches,
    explanation,
    posts,
    table_of,
)
from deploy.local.system import HARBOUR, System

MATCHES_BUDGET_S = 120.0  # of processor time of the whole system
_NEWEST = 20
_WATCH_EVERY_S = 1.0


def run_demo(system: System, *, detach: bool) -> None:
    """Show 1987 and now on a running ``system``; then, unless ``detach``, go on until Ctrl-C and stop everything."""
    print(f"Open {system.layout.url('console')}/ in a browser: it shows what happened in 1987, and what happens now.\n")
    try:
        applied_query(system, BANG)
        start_us = time.time_ns() // 1_000
        system.supervision.start_process(HARBOUR)  # the first bang takes its time, so it begins before the rest
        show_1987(system)
        _print_urls(system)
        print("\nNow, in a harbour: every few seconds there is a bang, and three microphones may hear it (made up).")
        print("P: how probable it is that those named here heard it within 2 s of each other.")
        print("" if detach else "Ctrl-C stops everything.")
        bangs = new_bangs(system, start_us)
        for bang in islice(bangs, 1) if detach else bangs:
            print(bang_sentence(bang), flush=True)
    except KeyboardInterrupt:
        _stop(system)
    else:
        print("\nIt stays up and the bangs go on; `make down` stops it.")


def show_1987(system: System) -> None:
    """Post the detections of 1987, unless an earlier demo has, wait for all their matches and print what these show."""
    queries = {id_: applied_query(system, id_) for id_ in QUERIES}
    post_all(system, set(DETECTORS) - detectors_in(matches_of(system, ANY_TWO, superseded="any")))
    matches = {id_: wait_for_matches(system, id_, expected_matches(query)) for id_, query in queries.items()}
    superseded = matches_of(system, TWO_OF_THREE, superseded="true")
    Console().print(table_of(queries, matches))
    print(explanation(queries[ANY_TWO].window.hi_s))
    print(f"{TWO_OF_THREE}: {len(matches[TWO_OF_THREE])} matches, all of three detectors; while they came in,")
    print(f"{len(superseded)} of two were live until the third detector's event superseded them.")
    print(episode_sentence(wait_for_episode(system, TWO_OF_THREE, len(matches[TWO_OF_THREE]))) + "\n")


def wait_in_patience(system: System, is_so: Callable[[], bool]) -> str | None:
    """Return None as soon as ``is_so()`` holds; else what the system did, once it is in vain."""
    return Patience(lambda: [system.supervision.runner()], MATCHES_BUDGET_S).wait(is_so)


def new_bangs(system: System, since_us: int) -> Iterator[Mapping[str, Any]]:
    """Yield each match of the harbour that ingest had in hand at ``since_us`` or later, as they come; never ends.

    The first is waited for until the system has used `MATCHES_BUDGET_S`.
    """
    if why := wait_in_patience(system, lambda: bool(_newest_bangs(system, since_us))):
        raise LocalError(f"no match of query {BANG} came, and the system {why}; see `make logs`")
    printed: set[str] = set()
    while True:
        newest = _newest_bangs(system, since_us)
        yield from (match for match in reversed(newest) if match["id"] not in printed)
        printed = {match["id"] for match in newest} or printed
        time.sleep(_WATCH_EVERY_S)


def _newest_bangs(system: System, since_us: int) -> list[dict[str, Any]]:
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


def _stop(system: System) -> None:
    print("\nStopping everything in order ...", flush=True)
    killed = system.down()
    print(f"Down; these had to be killed: {', '.join(killed)}" if killed else "Down.")


def applied_query(system: System, id_: str) -> Query:
    """Return one of the demo's queries once the fusion job has applied it."""
    if why := wait_in_patience(system, lambda: _is_applied(_query(system, id_))):
        raise LocalError(
            f"the fusion job has not applied query {id_}, and the system {why}; was it removed, or was this system "
            " first started before the demo had it? `make clean` starts afresh"
        )
    return Query.from_json(_query(system, id_)["query"])


def _query(system: System, id_: str) -> dict[str, Any]:
    answer = system.alerting.get(f"/v1/queries/{id_}")
    return dict(answer.json()) if answer.status_code == httpx2.codes.OK else {}


def _is_applied(query: dict[str, Any]) -> bool:
    return bool(query) and query["applied_version"] == query["version"]


def detectors_in(matches: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the detectors that are in some match: what they saw has been posted, and would be late by now."""
    return {member["sensor"] for match in matches for member in match["members"]}


def post_all(system: System, detectors: Collection[str] = tuple(DETECTORS)) -> None:
    """Post as the gateways would, all at once; a `LocalError` where ingest does not accept everything."""
    wanted = [(sensor, body) for sensor, body in posts().items() if sensor in detectors]
    with ThreadPoolExecutor(len(DETECTORS)) as gateways:
        for sensor, answer in gateways.map(lambda post: (post[0], _post(system, post[1])), wanted):
            if answer.status_code != httpx2.codes.ACCEPTED:
                raise LocalError(f"ingest answered {answer.status_code} to the detections of {sensor}: {answer.text}")


def _post(system: System, body: bytes) -> httpx2.Response:
    headers = {"Content-Type": "application/x-ndjson"}
    return system.ingest.post("/v1/detections", content=body, headers=headers)


def wait_for_matches(system: System, query: str, expected: set[frozenset[str]]) -> list[dict[str, Any]]:
    """Return every live match of a query once those between the detections in ``expected`` are served."""
    if why := wait_in_patience(system, lambda: expected <= _ids(matches_of(system, query))):
        came = len(expected & _ids(matches_of(system, query)))
        raise LocalError(
            f"{came} of {len(expected)} matches came, and the system {why}; was query {query} changed, "
            "paused or removed after the detections were first posted? `make clean` starts afresh"
        )
    return matches_of(system, query)


def _ids(matches: list[dict[str, Any]]) -> set[frozenset[str]]:
    return {frozenset(member["id"] for member in match["members"]) for match in matches}


def matches_of(system: System, query: str, **filters: str) -> list[dict[str, Any]]:
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


def wait_for_episode(system: System, query: str, count: int) -> dict[str, Any]:
    """Return the only episode of a query, once it is served and has so many matches."""
    if why := wait_in_patience(system, lambda: any(each["count"] == count for each in _episodes(system, query))):
        raise LocalError(f"no episode of {query} has its {count} matches, and the system {why}")
    episodes = _episodes(system, query)
    if len(episodes) > 1:
        raise LocalError(f"{query} has {len(episodes)} episodes: one was to be expected; `make clean` starts afresh")
    return episodes[0]


def _episodes(system: System, query: str) -> list[dict[str, Any]]:
    answer = system.alerting.get("/v1/episodes", params={"query": query})
    return list(answer.json()["items"]) if answer.status_code == httpx2.codes.OK else []


def _print_urls(system: System) -> None:
    ingest, alerting = system.layout.url("ingest"), system.layout.url("alerting")
    print(f"console      {system.layout.url('console')}/")
    print(f"matches      {alerting}/v1/matches?query={ANY_TWO}")
    print(f"episodes     {alerting}/v1/episodes?query={TWO_OF_THREE}")
    print(f"live stream  {alerting}/v1/live?query={BANG}")
    print(f"queries      {alerting}/v1/queries")
    print(f"sensors      {ingest}/v1/sensors")
    print(f"API          {ingest}/openapi.json  {alerting}/openapi.json")
    if system.layout.archives:
        print("archive      .local/archive: all detections in Parquet; docs/how-to/ask-the-past.md asks queries of it")
        print(f"runs         {system.layout.url('history')}/v1/history-runs")
    print(f"metrics      {ingest}/metrics  {alerting}/metrics  {system.layout.url('fusion')}/metrics")
