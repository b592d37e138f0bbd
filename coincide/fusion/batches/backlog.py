"""Backlog: the records that the micro-batches of a shard left to later ones, in chunks that Spark's state keeps."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import msgpack

from coincide.fusion.batches.batch_parts import size_of
from coincide.fusion.records.kafka_records import InputRecord

MOST_CHUNK_BYTES = 524_288  # unless it is one record

_decoder = msgpack.Decoder(list[InputRecord])


class Backlog:
    """Detections by chunk; a chunk is written anew only where some of its records were taken."""

    def __init__(self, chunks: Mapping[int, bytes] | None = None) -> None:
        self._chunks = {number: _decoder.decode(content) for number, content in (chunks or {}).items()}

    @property
    def records(self) -> list[InputRecord]:
        """All of them, in no order."""
        return [record for chunk in self._chunks.values() for record in chunk]

    def replace(self, left: Iterable[InputRecord]) -> tuple[dict[int, bytes], list[int]]:
        """Keep exactly these records; return the chunks to write, by number, and those to drop."""
        still = {(record.partition, record.offset): record for record in left}
        written: dict[int, bytes] = {}
        dropped: list[int] = []
        for number, chunk in list(self._chunks.items()):
            kept = [record for record in chunk if still.pop((record.partition, record.offset), None)]
            if not kept:
                dropped.append(number)
                del self._chunks[number]
            elif len(kept) < len(chunk):
                written[number] = self._set(number, kept)
        for number, chunk in enumerate(_chunked(list(still.values())), max(self._chunks, default=-1) + 1):
            written[number] = self._set(number, chunk)
        return written, [number for number in dropped if number not in written]

    def _set(self, number: int, chunk: list[InputRecord]) -> bytes:
        self._chunks[number] = chunk
        return msgpack.encode(chunk)


def _chunked(records: Sequence[InputRecord]) -> list[list[InputRecord]]:
    chunks: list[list[InputRecord]] = []
    room = 0
    for record in records:
        if size_of([record]) > room:
            chunks.append([])
            room = MOST_CHUNK_BYTES
        chunks[-1].append(record)
        room -= size_of([record])
    return chunks
