"""A reader of the live stream is handed no row before it joins, none that it has, and none once it is too slow."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from services.alerting.live.hub import LiveFilter, LiveHub, Reader
from services.alerting.metrics import Metrics
from services.alerting.store.match_rows import StoredMatch
from services.common.http.shares import NoPlaceError


def match(sequence: int) -> StoredMatch:
    return StoredMatch(sequence, f"m-{sequence}", "q", "bay", 0, "{}", None)


def joined(hub: LiveHub, has_until: int) -> Reader:
    reader = hub.seat(LiveFilter())
    hub.join(reader, has_until)
    return reader


def handed(reader: Reader) -> list[int]:
    """Return the sequences of what is queued, then the stream ends."""
    reader.end()
    return [row.sequence for row in asyncio.run(reader.next())]


def test_a_reader_who_has_caught_up_is_handed_what_comes_after_it() -> None:
    hub = LiveHub(Metrics(CollectorRegistry()), readers_max=9, queue_max=9)
    seated, behind, up_to_date, ahead = hub.seat(LiveFilter()), joined(hub, 6), joined(hub, 7), joined(hub, 9)
    hub.publish([match(7), match(8)])
    hub.publish([match(9), match(10)])
    assert [handed(each) for each in (seated, behind, up_to_date, ahead)] == [[], [7, 8, 9, 10], [8, 9, 10], [10]]
    assert hub.newest_sequence == 10


def test_a_reader_is_too_slow_once_more_waits_than_its_queue_may_hold() -> None:
    hub = LiveHub(Metrics(CollectorRegistry()), readers_max=9, queue_max=3)
    reader = joined(hub, 0)
    hub.publish([match(1), match(2), match(3)])
    assert not reader.too_slow.is_set()
    hub.publish([match(4)])
    assert reader.too_slow.is_set()
    assert handed(reader) == []


def test_one_peer_sits_on_half_of_the_seats_and_gets_up_once() -> None:
    hub = LiveHub(Metrics(CollectorRegistry()), readers_max=4, queue_max=9)
    first, _ = (hub.seat(LiveFilter(), "ann") for _ in range(2))
    with pytest.raises(NoPlaceError, match="2 of 4 readers of the live stream are yours"):
        hub.seat(LiveFilter(), "ann")
    hub.seat(LiveFilter(), "ben")
    for _ in range(2):  # whatever happens to a stream
        hub.leave(first)
    hub.seat(LiveFilter(), "ann")
    hub.seat(LiveFilter(), "eve")
    with pytest.raises(NoPlaceError, match="there are 4 readers"):
        hub.seat(LiveFilter(), "joe")
