"""``coincide export``: from matches to the places of their sources, as other programs read them, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from coincide.catalogue import LocatedMatch, geojson, located_match, quakeml
from coincide.command.answer_files import check_place, opened_sink
from coincide.command.arguments.export_arguments import CatalogueFormat, ExportRequest
from coincide.command.faults import BadRows, note, report_bad_rows
from coincide.command.input.chunks import opened_text

LONGEST_LINE = 1 << 20
WRITERS: Mapping[CatalogueFormat, Callable[[Iterable[LocatedMatch]], Iterator[bytes]]] = {
    "geojson": geojson,
    "quakeml": quakeml,
}


@dataclass
class _Reading:
    """Reads matches line by line, and counts them."""

    request: ExportRequest
    bad: list[BadRows] = field(default_factory=list)
    read: int = 0
    placed: int = 0

    def matches(self) -> Iterator[LocatedMatch]:
        """Yield each match; a line that is none is noted, and the last unless such lines are left out."""
        for path in self.request.inputs:
            bad = BadRows(path, "line")
            self.bad.append(bad)
            with opened_text(path) as (text, _):
                for line, content in enumerate(iter(lambda: text.readline(LONGEST_LINE), ""), 1):
                    match = None if content.isspace() else _match(content, line, bad)
                    if bad.count and not self.request.skip_bad:
                        report_bad_rows(self.bad, skip=False)
                    if match is not None:
                        self.read += 1
                        self.placed += match.place is not None
                        yield match


def run_export(request: ExportRequest) -> int:
    """Read and write; return the number of matches that have a place."""
    check_place(request.out, request.inputs)
    reading = _Reading(request)
    with opened_sink(request.out) as sink:
        for piece in WRITERS[request.form](reading.matches()):
            sink.write(piece)
            sink.flush()  # somebody may draw it as it comes
    report_bad_rows(reading.bad, skip=True)
    if reading.placed < reading.read:
        left_out = reading.read - reading.placed
        note(f"{left_out} of {reading.read} matches have no place: their query asks for no source, or it is not told")
    return reading.placed


def _match(content: str, line: int, bad: BadRows) -> LocatedMatch | None:
    try:
        return located_match(content)
    except ValueError as error:  # also of what is no JSON
        bad.add(line, f"is no match: {error}")
        return None
