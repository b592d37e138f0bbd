"""ObsPy's own network trigger of four stations: the same events come out of window joins of its station triggers."""

import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from coincide import ConstraintGraph, Detections, Histogram, Stream, Window, WindowJoin, window_join
from tests.reference.window_join import at_least_oracle, members_of_result

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what ObsPy imports
    obspy = pytest.importorskip("obspy", reason="no ObsPy: `pip install '.[seismology]'` brings the seismograms, too")
    trigger = pytest.importorskip("obspy.signal.trigger")

FILES = ("BW.UH1._.SHZ", "BW.UH2._.SHZ", "BW.UH3._.SHZ", "BW.UH4._.EHZ")
STATIONS = ["UH1", "UH2", "UH3", "UH4"]
ON, OFF, SHORT_S, LONG_S = 3.5, 1.0, 0.5, 10.0  # of its trigger tutorial
CLIQUE = ConstraintGraph.clique(STATIONS, Window(2.0))  # waves cross the network in about 1 s
Event = tuple[int, frozenset[str]]
"""First onset in microseconds, and the stations that saw it."""


@pytest.fixture(scope="module")
def seismograms() -> Any:
    """Four minutes of four stations near Munich, filtered as in the tutorial."""
    folder = Path(obspy.__file__).parent / "signal" / "tests" / "data"
    stream = obspy.Stream()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FILES:
            stream += obspy.read(str(folder / f"{name}.D.2010.147.cut.slist.gz"))
        stream.filter("bandpass", freqmin=10, freqmax=20)
    return stream


@pytest.fixture(scope="module")
def onsets_us(seismograms: Any) -> dict[str, list[int]]:
    """When each station triggered, in microseconds."""
    found = {}
    for trace in seismograms:
        rate = trace.stats.sampling_rate
        ratio = trigger.recursive_sta_lta(trace.data, int(SHORT_S * rate), int(LONG_S * rate))
        starts = [trace.stats.starttime + int(on) / rate for on, _ in trigger.trigger_onset(ratio, ON, OFF)]
        found[trace.stats.station] = [start.ns // 1000 for start in starts]
    return found


@pytest.fixture(scope="module")
def network_events(seismograms: Any) -> list[Event]:
    """What ObsPy's network trigger of three or more stations finds."""
    found = trigger.coincidence_trigger("recstalta", ON, OFF, seismograms.copy(), 3, sta=SHORT_S, lta=LONG_S)
    return [(event["time"].ns // 1000, frozenset(event["stations"])) for event in found]


def assert_same(found: set[frozenset[tuple[str, int]]], onsets_us: dict[str, list[int]], events: list[Event]) -> None:
    """Compare members with ObsPy's events; it keeps times as float seconds, good to a few microseconds."""
    ours = sorted(
        (min(onsets_us[station][row] for station, row in members), frozenset(station for station, _ in members))
        for members in found
    )
    assert [stations for _, stations in ours] == [stations for _, stations in events]
    assert all(abs(first_us - time_us) <= 5 for (first_us, _), (time_us, _) in zip(ours, events, strict=True))


def test_fifteen_triggers_make_three_events(onsets_us: dict[str, list[int]], network_events: list[Event]) -> None:
    assert sum(map(len, onsets_us.values())) == 15
    assert [len(stations) for _, stations in network_events] == [4, 3, 4]
    assert network_events[1][1] == {"UH1", "UH2", "UH3"}


@pytest.mark.parametrize("template", [Histogram.point(), Histogram.uniform(-SHORT_S, 0)])
def test_joins_of_three_and_of_four_stations_find_them(
    template: Histogram, onsets_us: dict[str, list[int]], network_events: list[Event]
) -> None:
    """So does the oracle. The trigger lags the wave by up to its short average: known exactly, or as uncertain."""
    of_each = {name: Detections(us, [template], sensor=[name] * len(us)) for name, us in onsets_us.items()}
    oracle = at_least_oracle(of_each, CLIQUE, 3, threshold=0.9)
    assert_same({frozenset(members_of_result(each, CLIQUE).items()) for each in oracle}, onsets_us, network_events)
    found: set[frozenset[tuple[str, int]]] = set()
    for stations in [tuple(STATIONS), *combinations(STATIONS, 3)]:
        graph = ConstraintGraph.clique(stations, Window(2.0), 0.9)
        rows = window_join({station: of_each[station] for station in stations}, graph).members.tolist()
        members = [frozenset(zip(stations, row, strict=True)) for row in rows]
        found |= {each for each in members if not any(each < more for more in found)}
    assert_same(found, onsets_us, network_events)


def test_a_stream_of_triggers_ends_in_them(onsets_us: dict[str, list[int]], network_events: list[Event]) -> None:
    """Each trigger comes alone, the latest first: what grows is retracted."""
    template = Histogram.uniform(-SHORT_S, 0)
    streams = [Stream(station, max_delay_s=600, longest_template_s=SHORT_S) for station in STATIONS]
    join = WindowJoin(CLIQUE, streams, threshold=0.9, at_least=3)
    every = [(us, station, row) for station in STATIONS for row, us in enumerate(onsets_us[station])]
    pushed = sorted(every, reverse=True)
    live: set[tuple[int, ...]] = set()
    for onset_us, station, _ in pushed:
        changes = join.push(station, Detections([onset_us], [template], sensor=[station]))
        live -= set(map(tuple, changes.retract.members.tolist()))
        live |= set(map(tuple, changes.insert.members.tolist()))
    events = {frozenset(pushed[number][1:] for number in members if number >= 0) for members in live}
    assert_same(events, onsets_us, network_events)
