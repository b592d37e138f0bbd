"""The demo: the real system, the real neutrinos of SN1987A, and the table of what happened together."""

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from rich.console import Console

from coincide.queries import Query
from deploy.local.demo_table import table_of
from deploy.local.failure import LocalError
from deploy.local.progress import shown
from deploy.local.sn1987a import (
    ANY_TWO,
    DETECTORS,
    QUERIES,
    TWO_OF_THREE,
    episode_sentence,
    expected_matches,
    posts,
)
from deploy.local.system import System
from deploy.local.waiting import wait_until

MATCHES_TIMEOUT_S = 60.0


def run_demo(system: System, *, detach: bool) -> None:
    """Start ``system``, post, show the matches; then stay until Ctrl-C and stop everything, unless ``detach``.

    Raises
    ------
    LocalError
        The system could not be started, or the matches did not come.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both end it in order
    try:
        _show(system)
        if not detach:
            print("\nCtrl-C stops everything.", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        _stop(system)
    else:
        print("\nIt stays up; `make down` stops it.")


def _show(system: System) -> None:
    with shown() as report:
        system.up(report)
    queries = {id_: applied_query(system, id_) for id_ in QUERIES}
    post_all(system)
    matches = {id_: wait_for_matches(system, id_, expected_matches(query)) for id_, query in queries.items()}
    taken_back = served_matches(system, TWO_OF_THREE, superseded="true")
    Console().print(table_of(queries, matches))
    print(f"{TWO_OF_THREE}: {len(matches[TWO_OF_THREE])} matches, all of three detectors; while they came in,")
    print(f"{len(taken_back)} of two were live until the third detector's event superseded them.")
    print(episode_sentence(wait_for_episode(system, TWO_OF_THREE, len(matches[TWO_OF_THREE]))) + "\n")
    _print_urls(system)


def _stop(system: System) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it running
    print("\nStopping everything in order ...", flush=True)
    killed = system.down()
    print(f"Down; these had to be killed: {', '.join(killed)}" if killed else "Down.")


def applied_query(system: System, id_: str) -> Query:
    """Return one of the demo's queries once the fusion job has applied it.

    Raises
    ------
    LocalError
        It has not, within `MATCHES_TIMEOUT_S`.
    """
    if not wait_until(lambda: _is_applied(_query(system, id_)), MATCHES_TIMEOUT_S):
        raise LocalError(
            f"the fusion job has not applied query {id_} within {MATCHES_TIMEOUT_S:.0f} s; was it removed, or was this "
            "system first started before the demo had it? `make clean` starts afresh"
        )
    return Query.from_json(_query(system, id_)["query"])


def _query(system: System, id_: str) -> dict[str, Any]:
    answer = system.alerting.get(f"/v1/queries/{id_}")
    return dict(answer.json()) if answer.status_code == httpx.codes.OK else {}


def _is_applied(query: dict[str, Any]) -> bool:
    return bool(query) and query["applied_version"] == query["version"]


def post_all(system: System) -> None:
    """Post as the three gateways would, all at once; a `LocalError` where ingest does not accept everything."""
    with ThreadPoolExecutor(len(DETECTORS)) as gateways:
        for sensor, answer in gateways.map(lambda post: (post[0], _post(system, post[1])), posts().items()):
            if answer.status_code != httpx.codes.ACCEPTED:
                raise LocalError(f"ingest answered {answer.status_code} to the detections of {sensor}: {answer.text}")


def _post(system: System, body: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/x-ndjson"}
    return system.ingest.post("/v1/detections", content=body, headers=headers)


def wait_for_matches(system: System, query: str, expected: set[frozenset[str]]) -> list[dict[str, Any]]:
    """Return every live match of a query once those between the detections in ``expected`` are served.

    Raises
    ------
    LocalError
        They are not, within `MATCHES_TIMEOUT_S`.
    """
    if not wait_until(lambda: expected <= _ids(served_matches(system, query)), MATCHES_TIMEOUT_S):
        found = len(expected & _ids(served_matches(system, query)))
        raise LocalError(
            f"{found} of {len(expected)} matches came within {MATCHES_TIMEOUT_S:.0f} s; was query {query} changed, "
            "paused or removed after the detections were first posted? `make clean` starts afresh"
        )
    return served_matches(system, query)


def _ids(matches: list[dict[str, Any]]) -> set[frozenset[str]]:
    return {frozenset(member["id"] for member in match["members"]) for match in matches}


def served_matches(system: System, query: str, **filters: str) -> list[dict[str, Any]]:
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
    """Return the episode of a query that has so many matches, once it is served.

    Raises
    ------
    LocalError
        It is not, within `MATCHES_TIMEOUT_S`, or it is not the only one.
    """
    if not wait_until(lambda: any(each["count"] == count for each in _episodes(system, query)), MATCHES_TIMEOUT_S):
        raise LocalError(f"no episode of {query} has its {count} matches after {MATCHES_TIMEOUT_S:.0f} s")
    episodes = _episodes(system, query)
    if len(episodes) > 1:
        raise LocalError(f"{query} has {len(episodes)} episodes: one was to be expected; `make clean` starts afresh")
    return episodes[0]


def _episodes(system: System, query: str) -> list[dict[str, Any]]:
    answer = system.alerting.get("/v1/episodes", params={"query": query})
    return list(answer.json()["items"]) if answer.status_code == httpx.codes.OK else []


def _print_urls(system: System) -> None:
    ingest, alerting = system.layout.url("ingest"), system.layout.url("alerting")
    print(f"matches      {alerting}/v1/matches?query={ANY_TWO}")
    print(f"episodes     {alerting}/v1/episodes?query={TWO_OF_THREE}")
    print(f"live stream  {alerting}/v1/live")
    print(f"queries      {alerting}/v1/queries")
    print(f"sensors      {ingest}/v1/sensors")
    print(f"API          {ingest}/openapi.json  {alerting}/openapi.json")
    print(f"metrics      {ingest}/metrics  {alerting}/metrics  {system.layout.url('fusion')}/metrics")
