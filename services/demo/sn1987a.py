"""The demo's detections of 1987 (config/examples/sn1987a), and what their matches show, detectors by detectors."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coincide import ConstraintGraph, Detections, window_join
from coincide.queries import Query
from services.common.settings import load_streams
from services.common.shipped_config import SHIPPED_CONFIG
from services.ingest.registry.sensors_file import load_sensors

EXAMPLES = SHIPPED_CONFIG / "examples" / "sn1987a"
#: Ids as in config/sensors.yaml, and the names that people know.
DETECTORS = {"kamiokande-ii": "Kamiokande II", "imb": "IMB", "baksan": "Baksan"}
STREAM = "neutrino"
#: Ids as in config/queries.yaml.
ANY_TWO, ALL_THREE, TWO_OF_THREE = QUERIES = ("sn1987a", "sn1987a-all", "sn1987a-two-of-three")
SUPERNOVA = "supernova"
DAYS_OF_A_CENTURY = 36_525


@dataclass(frozen=True)
class DetectorGroup:
    """The matches between some detectors, summed up."""

    detectors: tuple[str, ...]
    first_events_apart_s: float  # from the earliest to the latest of their first events, by their own clocks
    first_events_probability: float | None  # of the match of their first events; None where there is none
    matches: int  # how many sets of one event of each match
    point_matches: int  # how many would, were every clock believed: reported times at most the window apart


def posts() -> dict[str, bytes]:
    """Return what each detector's gateway posts, by sensor: one JSON object a line."""
    return {sensor: _file(sensor).read_bytes() for sensor in DETECTORS}


def bursts() -> bytes:
    """Return each burst of a detector as one detection, a JSON object a line; post it after all of `posts`.

    The last one came 19 min later. It tells that the first ones can no longer match anything else.
    """
    return _file("bursts").read_bytes()


def expected_matches(query: Query) -> set[frozenset[str]]:
    """Return the detection ids of each match that must be live in the end, worked out by the library's batch join.

    All edges of `query` have the same window and threshold, as those of the demo's queries have.
    """
    expected: set[frozenset[str]] = set()
    roles = query.graph.roles
    for members in range(len(roles), (query.at_least.fewest(roles) if query.at_least else len(roles)) - 1, -1):
        for detectors in itertools.combinations(DETECTORS, members):
            together = set(_joined(query, detectors))
            expected |= {each for each in together if not any(each < larger for larger in expected)}
    return expected


def _joined(query: Query, detectors: Sequence[str]) -> Iterator[frozenset[str]]:
    edge = query.graph.edges[0]
    graph = ConstraintGraph.clique(detectors, edge.window, edge.threshold)
    tuples = window_join({each: _detections(each) for each in detectors}, graph, threshold=query.joint_threshold)
    ids = [list(_reported_s(each)) for each in detectors]
    for positions in tuples.members.tolist():
        yield frozenset(names[at] for names, at in zip(ids, positions, strict=True))


def by_detectors(matches: Iterable[Mapping[str, Any]], window_s: float, members: int = 2) -> list[DetectorGroup]:
    """Sum up ``matches``, as GET /v1/matches serves them, for every so many detectors."""
    probability = {frozenset(each["id"] for each in match["members"]): match["probability"] for match in matches}
    return [_sum_up(group, probability, window_s) for group in itertools.combinations(DETECTORS, members)]


def one_event_sentences(match: Mapping[str, Any], query: Query) -> str:
    """Say of a match with evidence, as GET /v1/matches serves it, how sure it is, by which word, and of its clocks."""
    when = datetime.fromtimestamp(match["occurred"]["mean_us"] / 1e6, UTC)
    *some, last = (DETECTORS[member["sensor"]] for member in match["members"])
    lines = [f"{', '.join(some)} and {last} saw a burst of neutrinos at about {when:%H:%M:%S}."]
    lines += [f"One event: {match['evidence']['posterior']:.1%}.", *_assumed(query)]
    return "\n".join([*lines, *map(_clock_sentence, match["occurred"]["clocks"])])


def _assumed(query: Query) -> Iterator[str]:
    rule = query.event
    if rule is not None and rule.unpaired_per_day is not None:
        of_events = (
            f"{rule.per_day * DAYS_OF_A_CENTURY:.0f} supernovae a century, each seen by {rule.heard_by:.0%} of them"
        )
        yield f"It takes for granted that background makes {rule.unpaired_per_day:g} burst a day at each detector,"
        yield f"and that there are {of_events}."


def _clock_sentence(clock: Mapping[str, Any]) -> str:
    mean, low, high = (_slow(clock[each]) for each in ("mean_s", "p05_s", "p95_s"))
    return f"The clock of {DETECTORS[clock['id']]} was {mean}; with 90 % between {low} and {high}."


def _slow(seconds: float) -> str:
    return f"{abs(seconds):.1f} s {'fast' if seconds < 0 else 'slow'}"


def table_of(queries: Mapping[str, Query], matches: Mapping[str, Iterable[Mapping[str, Any]]]) -> str:
    """Return the table of the demo's ``queries`` of single neutrinos and their ``matches``, by query id."""
    window_s = queries[ANY_TWO].window.hi_s
    twos = by_detectors(matches[ANY_TWO], window_s)
    threes = by_detectors(matches[ALL_THREE], window_s, members=3)
    head, *lines = _aligned([("detectors", "apart", "P", f"plain {window_s:g} s"), *_rows([*twos, *threes])])
    return "\n".join([head, "-" * len(head), *lines, ""])


def _rows(groups: Iterable[DetectorGroup]) -> Iterator[Sequence[str]]:
    for group in groups:
        probability = group.first_events_probability
        yield (
            " - ".join(DETECTORS[each] for each in group.detectors),
            f"{group.first_events_apart_s:.3f} s",
            "none" if probability is None else f"{probability:.4f}",
            str(group.point_matches),
        )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line: names stand left in their column, and figures right."""
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "   ".join([name.ljust(first), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))])
        for name, *cells in rows
    ]


def explanation(window_s: float) -> str:
    """Return what each column of `table_of` says, a line each."""
    return f"""\
apart        how far apart the detectors' own clocks put their first events
P            how probable it is, by the clocks alone, that these lie within {window_s:g} s of each other; none: no match
plain {window_s:g} s   how many pairs (or triples) of neutrinos fit within {window_s:g} s, if every clock were right
"""


def _sum_up(group: tuple[str, ...], probability: Mapping[frozenset[str], float], window_s: float) -> DetectorGroup:
    apart_s = {}
    for events in itertools.product(*(_reported_s(each).items() for each in group)):
        times_s = [time_s for _, time_s in events]
        apart_s[frozenset(id_ for id_, _ in events)] = max(times_s) - min(times_s)
    first_events = next(iter(apart_s))  # a file is in the order of time
    return DetectorGroup(
        detectors=group,
        first_events_apart_s=apart_s[first_events],
        first_events_probability=probability.get(first_events),
        matches=len(apart_s.keys() & probability.keys()),
        point_matches=sum(each_s <= window_s for each_s in apart_s.values()),
    )


def _detections(sensor: str) -> Detections:
    template = load_sensors(SHIPPED_CONFIG / "sensors.yaml", load_streams(SHIPPED_CONFIG / "streams.yaml"))[sensor]
    detected_at_us = [round(each_s * 1e6) for each_s in _reported_s(sensor).values()]
    return Detections(detected_at_us, [template.streams[STREAM]], sensor=[sensor] * len(detected_at_us))


def _reported_s(sensor: str) -> dict[str, float]:
    """Return the reported time of each detection of ``sensor``, in seconds since the epoch, by detection id."""
    detections = [json.loads(line) for line in _file(sensor).read_text(encoding="utf-8").splitlines()]
    return {each["id"]: datetime.fromisoformat(each["detected_at"]).timestamp() for each in detections}


def _file(sensor: str) -> Path:
    return EXAMPLES / f"{sensor}.ndjson"
