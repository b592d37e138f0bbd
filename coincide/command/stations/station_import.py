"""``coincide stations``: from files of stations to the YAML of sensors, or to the sensors of a running system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from coincide.command.answer_files import check_place, opened_sink
from coincide.command.arguments.stations_arguments import StationsRequest
from coincide.command.arguments.template_arguments import load_templates, parse_template
from coincide.command.faults import LISTED, CommandError, note
from coincide.command.stations.sensor_posts import Verdict, patch_places, post_sensors
from coincide.command.stations.station import Station
from coincide.command.stations.station_files import read_stations

LONGEST_LINE = 2**30  # so that no text is broken


def run_stations(request: StationsRequest) -> None:
    """Read the files, and write or post their stations."""
    check_place(request.out, request.files)
    stations = read_stations(request.files, skip_bad=request.skip_bad)
    if request.to is None:
        _write(request.out, _document(request, stations.values()))
    elif request.streams:
        document = _document(request, stations.values())
        _tell(post_sensors(request.to, document, overwrite=request.overwrite))
    else:
        _tell(patch_places(request.to, {each.id: each.form for each in stations.values()}))


def _document(request: StationsRequest, stations: Iterable[Station]) -> dict[str, Any]:
    """Return what declares the stations as sensors, all with one template."""
    name = request.uncertainty or ""
    template = parse_template(name, load_templates(request.templates))
    streams = dict.fromkeys(request.streams, name)
    sensors = [{"id": each.id, "area": request.area, "streams": streams, "place": each.form} for each in stations]
    return {"templates": {name: template.to_json()}, "sensors": sensors}


def _write(out: Path | None, document: Mapping[str, Any]) -> None:
    form: dict[str, Any] = {
        "sort_keys": False,
        "width": LONGEST_LINE,
        "default_flow_style": None,
        "allow_unicode": True,
    }
    with opened_sink(out) as sink:
        sink.write(yaml.dump(document, Dumper=_Dumper, **form).encode())


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - sensors share their streams, and say so in full
        return True


def _tell(verdicts: Iterator[Verdict]) -> None:
    """Say what became of the stations; raise CommandError if some were refused."""
    counts: dict[str, int] = {}
    for sensor, status, why in verdicts:
        counts[status] = counts.get(status, 0) + 1
        if why and counts[status] <= LISTED:
            note(f"sensor {sensor!r} was {status}: {why}")
    note(", ".join(f"{count} {status}" for status, count in counts.items()))
    if missed := sum(counts.get(each, 0) for each in ("refused", "unacknowledged")):
        raise CommandError(f"{missed} of {sum(counts.values())} sensors are not as the files say")
