"""The demo: the real system, the real neutrinos of SN1987A, and the table of what happened together."""

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from deploy.local.failure import LocalError
from deploy.local.progress import shown
from deploy.local.sn1987a import DETECTORS, DetectorPair, by_detectors, expected_matches, posts
from deploy.local.system import System
from deploy.local.waiting import wait_until

QUERY = "sn1987a"
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
    window_s, threshold = applied_query(system)
    post_all(system)
    matches = wait_for_matches(system, expected_matches(window_s, threshold))
    console = Console()
    console.print(_table(by_detectors(matches, window_s), window_s, threshold))
    _print_urls(system)


def _stop(system: System) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it running
    print("\nStopping everything in order ...", flush=True)
    killed = system.down()
    print(f"Down; these had to be killed: {', '.join(killed)}" if killed else "Down.")


def applied_query(system: System) -> tuple[float, float]:
    """Return window (seconds) and threshold of the demo's query once the fusion job has applied it.

    Raises
    ------
    LocalError
        It has not, within `MATCHES_TIMEOUT_S`.
    """
    if not wait_until(lambda: _is_applied(_query(system)), MATCHES_TIMEOUT_S):
        raise LocalError(f"the fusion job has not applied query {QUERY} within {MATCHES_TIMEOUT_S:.0f} s")
    edge = _query(system)["query"]["within"][0]
    return edge["window_s"], edge["threshold"]


def _query(system: System) -> dict[str, Any]:
    answer = system.alerting.get(f"/v1/queries/{QUERY}")
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


def wait_for_matches(system: System, expected: set[frozenset[str]]) -> list[dict[str, Any]]:
    """Return every match of the demo's query once those between the pairs of ids in ``expected`` are served.

    Raises
    ------
    LocalError
        They are not, within `MATCHES_TIMEOUT_S`.
    """
    if not wait_until(lambda: expected <= _ids(_matches(system)), MATCHES_TIMEOUT_S):
        found = len(expected & _ids(_matches(system)))
        raise LocalError(
            f"{found} of {len(expected)} matches came within {MATCHES_TIMEOUT_S:.0f} s; was query {QUERY} changed, "
            "paused or removed after the detections were first posted? `make clean` starts afresh"
        )
    return _matches(system)


def _ids(matches: list[dict[str, Any]]) -> set[frozenset[str]]:
    return {frozenset(member["id"] for member in match["members"]) for match in matches}


def _matches(system: System) -> list[dict[str, Any]]:
    matches: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = system.alerting.get("/v1/matches", params={"query": QUERY, "limit": 1000, **cursor}).json()
        matches += page["items"]
        if page["next_cursor"] is None:
            return matches
        cursor = {"cursor": page["next_cursor"]}


def _table(pairs: list[DetectorPair], window_s: float, threshold: float) -> Table:
    table = Table(
        title="SN1987A, 1987-02-23 07:35 UT: three detectors, three clocks that disagree",
        caption=f"apart: by the detectors' own clocks; P: that they came within {window_s:g} s of each other",
        box=SIMPLE_HEAD,
    )
    table.add_column("detectors", no_wrap=True)
    table.add_column("first events\napart", justify="right")
    table.add_column("first events\nP", justify="right")
    table.add_column(f"matches\nP >= {threshold:g}", justify="right")
    table.add_column(f"plain window\n{window_s:g} s", justify="right")
    for pair in pairs:
        sure = pair.first_events_probability
        table.add_row(
            " - ".join(DETECTORS[each] for each in pair.detectors),
            f"{abs(pair.first_events_apart_s):.3f} s",
            "none" if sure is None else f"{sure:.4f}",
            str(pair.matches),
            str(pair.point_matches),
        )
    return table


def _print_urls(system: System) -> None:
    ingest, alerting = system.layout.url("ingest"), system.layout.url("alerting")
    print(f"matches      {alerting}/v1/matches?query={QUERY}")
    print(f"live stream  {alerting}/v1/live")
    print(f"queries      {alerting}/v1/queries")
    print(f"sensors      {ingest}/v1/sensors")
    print(f"API          {ingest}/openapi.json  {alerting}/openapi.json")
    print(f"metrics      {ingest}/metrics  {alerting}/metrics  {system.layout.url('fusion')}/metrics")
