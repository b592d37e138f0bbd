"""RangeMatches: the matches of a run as live, each with its evidence, which is told once nothing can join it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO

from msgspec import Struct
from msgspec.json import Decoder

from coincide.fusion.records.kafka_records import Output
from coincide.wire.results.evidence_record import evidence_of_match
from coincide.wire.results.match_record import MatchRecord
from services.history.replaying.request import RunRequest

_match_decoder = Decoder(MatchRecord)


class _Named(Struct):
    """Which match a record of evidence is of."""

    id: str


_named_decoder = Decoder(_Named)


@contextmanager
def range_matches(request: RunRequest, folder: Path, out: BinaryIO) -> Iterator[RangeMatches]:
    """Yield what writes the matches of a range to `out`; the folder has what waits, for so long."""
    with TemporaryFile(dir=folder) as matches, TemporaryFile(dir=folder) as evidence:
        yield RangeMatches(request, out, matches, evidence)


class RangeMatches:
    """Takes what an engine says, and writes the matches of the range, in their order.

    Those of a query with `event` wait in a file until `finish`, and so does their evidence. In memory is only where
    that begins.
    """

    def __init__(self, request: RunRequest, out: BinaryIO, matches: IO[bytes], evidence: IO[bytes]) -> None:
        self._request, self._out, self._evidence = request, out, evidence
        self._has_event = request.query.kind == "join" and request.query.event is not None
        self._lines = matches if self._has_event else out
        self._begins: dict[str, int | None] = {}  # where the evidence of a match begins; None while it is to come
        self._to_come = 0

    @property
    def awaits_evidence(self) -> bool:
        """Whether the evidence of a match is still to come."""
        return self._to_come > 0

    def take(self, output: Output) -> list[MatchRecord]:
        """Take the matches of the range and their evidence, and return the matches."""
        found = []
        for record in output.matches:
            match = _match_decoder.decode(record.value)
            if self._request.from_us <= match.received_at_us < self._request.to_us:
                self._lines.write(record.value + b"\n")
                self._expect(match.id)
                found.append(match)
        self.take_evidence(output)
        return found

    def _expect(self, match: str) -> None:
        if self._has_event and match not in self._begins:
            self._begins[match] = None
            self._to_come += 1

    def take_evidence(self, output: Output) -> None:
        """Take the evidence of matches that have been taken; what is told first of a match counts."""
        for record in output.evidence:
            match = _named_decoder.decode(record.value).id
            if self._begins.get(match, 0) is None:
                self._begins[match] = self._evidence.tell()
                self._evidence.write(record.value + b"\n")
                self._to_come -= 1

    def finish(self) -> dict[str, int]:
        """Write what has waited, each match with its evidence or null, and return what a summary says of that."""
        if not self._has_event:
            return {}
        self._lines.seek(0)
        for line in self._lines:
            told = evidence_of_match(self._evidence_of(_named_decoder.decode(line).id)).encode()
            self._out.write(line.rstrip()[:-1] + b',"evidence":' + told + b"}\n")
        return {"evidence": len(self._begins) - self._to_come, "evidence_to_come": self._to_come}

    def _evidence_of(self, match: str) -> bytes | None:
        begins = self._begins[match]
        if begins is None:
            return None
        self._evidence.seek(begins)
        return self._evidence.readline()
