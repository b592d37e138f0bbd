"""DeclaredStreams: what the file and the records of a topic declare together, whatever else is on the topic."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from coincide import Stream
from coincide.wire.declarations.stream_records import StreamRecord, StreamRecordError, stream_record
from services.common.declared_streams import DeclaredStreams

FILE = {name: Stream(name, max_delay_s=60.0, longest_template_s=5.0) for name in ("door", "sound")}


def declared(name: str, version: int, delay_s: float) -> Any:
    return of(StreamRecord(v=1, stream=name, version=version, max_delay_s=delay_s, longest_template_s=1.0))


def removed(name: str, version: int) -> Any:
    return of(StreamRecord(v=1, stream=name, version=version, removed=True))


def of(record: StreamRecord) -> Any:
    return written(record.key, record.to_record())


def written(key: bytes | None, value: bytes | None) -> Any:
    return SimpleNamespace(topic="coincide.queries", key=key, value=value)


def query(id_: str, *streams: str) -> Any:
    document = {
        "id": id_,
        "from": dict(zip("ab", streams, strict=True)),
        "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}],
    }
    change = {"v": 1, "id": id_, "version": 1, "changed_at_us": 0, "query": document}
    return written(id_.encode(), json.dumps(change).encode())


def delays(streams: DeclaredStreams) -> dict[str, float]:
    return {name: stream.max_delay_s for name, stream in streams.items()}


def test_without_records_it_is_what_the_file_says() -> None:
    assert dict(DeclaredStreams(FILE)) == FILE
    assert DeclaredStreams(FILE).is_caught_up
    assert not DeclaredStreams(FILE, follows=True).is_caught_up


def test_records_come_before_the_file_and_later_versions_before_earlier_ones() -> None:
    streams = DeclaredStreams(FILE, follows=True)
    told: list[frozenset[str]] = []
    streams.on_change = told.append
    streams.replace([[declared("door", 2, 9)], [declared("bell", 1, 7)]])
    assert streams.is_caught_up
    assert delays(streams) == {"door": 9, "sound": 60, "bell": 7}
    streams.apply([declared("door", 1, 1), removed("sound", 1), declared("bell", 2, 3)])
    assert delays(streams) == {"door": 9, "bell": 3}
    assert [streams.version(name) for name in ("door", "sound", "bell", "none")] == [2, 1, 2, 0]
    assert told[1:] == [frozenset({"sound", "bell"})]
    streams.apply([declared("sound", 2, 4)])
    assert delays(streams)["sound"] == 4


def test_reading_the_topic_again_forgets_what_is_not_on_it() -> None:
    streams = DeclaredStreams(FILE, follows=True)
    told: list[frozenset[str]] = []
    streams.apply([declared("door", 1, 9), removed("sound", 1), query("q", "door", "bell")])
    streams.on_change = told.append
    streams.replace([])
    assert dict(streams) == FILE
    assert (streams.version("door"), streams.readers("door")) == (0, [])
    assert told == [frozenset({"door", "sound"})]


def test_it_knows_which_queries_read_a_stream() -> None:
    streams = DeclaredStreams(FILE, follows=True)
    streams.apply([query("slam", "door", "sound"), query("echo", "sound", "sound")])
    assert (streams.readers("sound"), streams.readers("door")) == (["echo", "slam"], ["slam"])
    streams.apply([query("slam", "sound", "sound")])
    assert streams.readers("door") == []
    gone = written(b"echo", b'{"v":1,"id":"echo","version":2,"removed":true}')
    streams.apply([gone, written(b"slam", None)])
    assert streams.readers("sound") == ["slam"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"stream/door", b"{"),
        (b"stream/door", b"\xff"),
        (b"stream/door", b"[" * 100_000),
        (b"stream/sound", declared("door", 1, 1).value),
        (b"stream/door", b'{"v":1,"stream":"door","version":1}'),
        (b"stream/door", b'{"v":1,"stream":"door","version":1,"max_delay_s":-1,"longest_template_s":1}'),
        (b"stream/door", b'{"v":1,"stream":"door","version":0,"removed":true}'),
    ],
)
def test_what_is_no_record_changes_nothing_and_stops_nothing(key: bytes, value: bytes) -> None:
    streams = DeclaredStreams(FILE, follows=True)
    streams.apply([written(key, value), written(b"q", b'{"query": 1}'), declared("bell", 1, 7)])
    assert dict(streams).keys() == {"door", "sound", "bell"}
    assert streams["door"] == FILE["door"]
    with pytest.raises(StreamRecordError):
        stream_record(key, value)
