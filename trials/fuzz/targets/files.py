"""Files that the library's command and the processes read."""

import contextlib
import gzip
import io
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from coincide.command.main import main
from coincide.errors import CoincideError
from services.alerting.queries.edits import load_queries
from services.alerting.records.receiver import load_receivers
from services.common.settings import SettingsError, load_streams
from services.ingest.registry.sensors_file import load_declared
from spark_jobs.calibrating.sources import present_sensors
from tests.services.alerting.clients import STREAMS
from trials.fuzz.target import BrokenLaw, Target, own_folder
from trials.fuzz.targets.documents import CLIQUE, FORMS, JOIN, SQL, WAYS

TIME_US = 541_064_135_000_000
ROWS = [
    {
        "id": "a",
        "sensor": "imb",
        "stream": "seismic",
        "detected_at": "1987-02-23T07:35:35Z",
        "value": 50.5,
        "sigma_s": 0.5,
    },
    {
        "id": "b",
        "sensor": "geo",
        "stream": "acoustic",
        "detected_at": "1987-02-23T07:35:36.25+00:00",
        "value": -1.0,
        "sigma_s": None,
    },
    {
        "id": "c",
        "sensor": "imb",
        "stream": "seismic",
        "detected_at": "1987-02-23T07:36:36.25Z",
        "value": 51.0,
        "sigma_s": 0.25,
    },
]
NUMBERED = [
    {"detected_at_us": TIME_US + nth, "earliest_us": TIME_US - 5, "latest_us": TIME_US + 9, "sensor": "imb"}
    for nth in range(3)
]


def _file(name: str, content: bytes) -> Path:
    path = own_folder() / name
    path.write_bytes(content)
    return path


@cache
def _good() -> Path:
    return _file("good.ndjson", b"".join(json.dumps(each).encode() + b"\n" for each in ROWS))


def _command(*arguments: object) -> None:
    """Run the command: it ends well, or says what is wrong with its input."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = main([*map(str, arguments)])
    if status not in (0, 1):
        raise BrokenLaw(f"exit status {status}: {said.getvalue()}")
    if "cannot be written" in said.getvalue():
        raise BrokenLaw(said.getvalue())


def _rows(suffix: str) -> Callable[[bytes], None]:
    def take(content: bytes) -> None:
        path, out = _file(f"rows{suffix}", content), own_folder() / "out.ndjson"
        templates = _file("good-templates.json", b'{"imb": {"uniform": [-1, 1]}}')
        joined = ["--window", 2, "--threshold", 0.1, "--skip-bad", "--out", out]
        _command("join", path, _good(), "--uncertainty", "uniform:-1,1", *joined)
        _command("join", path, _good(), "--templates", templates, *joined)
        _command("coalesce", path, "--by", "sensor", "--value", "value", "--gap", 60, "--skip-bad", "--out", out)

    return take


def _templates(suffix: str) -> Callable[[bytes], None]:
    def take(content: bytes) -> None:
        path, out = _file(f"templates{suffix}", content), own_folder() / "out.ndjson"
        _command(
            "join", _good(), _good(), "--templates", path, "--window", 2, "--threshold", 0.1, "--skip-bad", "--out", out
        )

    return take


def _query(suffix: str) -> Callable[[bytes], None]:
    def take(content: bytes) -> None:
        path, out = _file(f"query{suffix}", content), own_folder() / "out.ndjson"
        _command("join", "--query", path, _good(), "--uncertainty", "point", "--skip-bad", "--out", out)

    return take


def _stations(suffix: str) -> Callable[[bytes], None]:
    def take(content: bytes) -> None:
        path, out = _file(f"stations{suffix}", content), own_folder() / "stations.yaml"
        out.unlink(missing_ok=True)
        kind = ["--area", "bay", "--stream", "seismic", "--uncertainty", "uniform:-1,1"]
        _command("stations", path, *kind, "--skip-bad", "--out", out)
        if out.exists():
            load_declared(out, STREAMS)

    return take


def _configuration(content: bytes) -> None:
    """Read each file of config/, as the processes do when they start."""
    path = _file("declared.yaml", content)
    for read in (
        load_streams,
        lambda path: load_declared(path, STREAMS),
        lambda path: load_queries(path, STREAMS),
        lambda path: load_receivers(path, {"SECRET": "x"}),
        present_sensors,
    ):
        with contextlib.suppress(SettingsError, CoincideError):
            read(path)


def _csv(rows: Sequence[dict[str, object]]) -> bytes:
    lines = [list(rows[0]), *([str("" if each is None else each) for each in row.values()] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _ndjson(rows: Sequence[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _parquet(rows: Sequence[dict[str, object]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), out)
    return out.getvalue()


NAMED = {"imb": FORMS[0], "geo": FORMS[1], "c": FORMS[4]}
DECLARED = {
    "templates": {"clock": FORMS[0]},
    "sensors": [{"id": "imb", "area": "bay", "streams": {"seismic": "clock"}, "labels": {"a": "b"}}],
    "streams": {"seismic": {"max_delay_s": 5, "longest_template_s": 8}},
}
ONLY = [{name: DECLARED[name] for name in names} for names in (["templates", "sensors"], ["streams"])]
STATIONS = b"network,station,lat,lon,elevation\nIV,ARRO,42.5,12.7,253\n"
STATION_XML = (
    b'<FDSNStationXML><Network code="IV"><Station code="ARRO" startDate="2010-01-01"><Latitude>42.5</Latitude>'
    b"<Longitude>12.7</Longitude><Elevation>253</Elevation></Station></Network></FDSNStationXML>"
)
POINT = {"properties": {"sensor": "IV.ARRO"}, "geometry": {"type": "Point", "coordinates": [12.7, 42.5, 253]}}
OTHERS = [{"queries": [JOIN, CLIQUE]}, {"receivers": {"ops": WAYS[1], "me": {"people": {"urls": ["env:SECRET"]}}}}]


def _yaml(*documents: object) -> list[bytes]:
    return [yaml.safe_dump(each).encode() for each in documents]


def _dumped(*documents: object) -> list[bytes]:
    return [json.dumps(each).encode() for each in documents]


LAW = "the command answers, or says in a sentence what is wrong with the file"
TARGETS = (
    Target(
        "files/csv",
        LAW,
        _rows(".csv"),
        lambda: [_csv(ROWS), _csv(NUMBERED), b'detected_at;"id"\n1987-02-23T07:35:35Z;"a\nb"\n'],
    ),
    Target("files/ndjson", LAW, _rows(".ndjson"), lambda: [_ndjson(ROWS), _ndjson(NUMBERED)]),
    Target("files/parquet", LAW, _rows(".parquet"), lambda: [_parquet(ROWS), _parquet(NUMBERED)]),
    Target("files/gzip", LAW, _rows(".csv.gz"), lambda: [gzip.compress(_csv(ROWS), mtime=0)]),
    Target("files/templates as json", LAW, _templates(".json"), lambda: _dumped(NAMED, ONLY[0])),
    Target("files/templates as yaml", LAW, _templates(".yaml"), lambda: _yaml(NAMED, ONLY[0])),
    Target("files/queries as json", LAW, _query(".json"), lambda: _dumped(JOIN, CLIQUE)),
    Target("files/queries as sql", LAW, _query(".sql"), lambda: [each.encode() for each in SQL]),
    Target("files/stations as csv", LAW, _stations(".csv"), lambda: [STATIONS, STATIONS.replace(b",", b"|")]),
    Target("files/stations as xml", LAW, _stations(".xml"), lambda: [STATION_XML]),
    Target("files/stations as geojson", LAW, _stations(".geojson"), lambda: _dumped({"features": [POINT]})),
    Target(
        "files/configuration",
        "a settings error says what is wrong with the file",
        _configuration,
        lambda: _yaml(*ONLY, *OTHERS),
    ),
)
