"""`coincide stations`: places from the files that people have of them, as YAML and in a running system."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from coincide.command.main import main
from services.common.settings import load_streams
from services.ingest.registry.sensors_file import load_sensors
from tests.coincide.command.files import text
from tests.docs.page_runs import nothing_left
from tests.one_process import OneProcess

NEW = ["--area", "italy", "--stream", "seismic", "--uncertainty", "normal:0.2"]
XML = """<?xml version="1.0"?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.1"><Source>x</Source><Network code="IV">
  <Station code="ARRO" startDate="2010-01-01"><Latitude>42.5</Latitude><Longitude>12.7</Longitude>
    <Elevation>200</Elevation><Site><Name>Arrone</Name></Site></Station>
  <Station code="ARRO" startDate="2015-01-01"><Latitude unit="DEGREES">42.5792</Latitude>
    <Longitude>12.7657</Longitude><Elevation>253.0</Elevation>
    <Channel code="EHZ"><Latitude>1</Latitude><Longitude>1</Longitude><Elevation>1</Elevation></Channel></Station>
</Network></FDSNStationXML>"""
POINT = {
    "type": "Feature",
    "properties": {"network": "IV", "station": "ARRO"},
    "geometry": {"type": "Point", "coordinates": [12.7657, 42.5792, 253]},
}
ARRO = ("IV.ARRO", {"lat": 42.5792, "lon": 12.7657, "height_m": 253.0})
FILES = {
    "fdsn.txt": "#Network|Station|Latitude|Longitude|Elevation|SiteName\nIV|ARRO|42.5792|12.7657|253|Arrone\n",
    "km.csv": "network,station,latitude,longitude,elevation_km\nIV,ARRO,42.5792,12.7657,0.253\n",
    "comma.csv": "Sensor;Latitude (deg);Longitude (deg);Elevation (m)\nIV.ARRO;42,5792;12,7657;253\n",
    "channels.csv": "net,sta,cha,lat,lon,alt\n" + "IV,ARRO,EHZ,42.5792,12.7657,253\nIV,ARRO,EHN,42.5792,12.7657,253\n",
    "stations.xml": XML,
    "stations.geojson": json.dumps({"type": "FeatureCollection", "features": [POINT]}),
}


def places(path: Path) -> list[tuple[str, Any]]:
    return [(each["id"], each["place"]) for each in yaml.safe_load(path.read_text())["sensors"]]


@pytest.mark.parametrize("name", FILES)
def test_a_station_as_people_write_it(tmp_path: Path, name: str) -> None:
    out = tmp_path / "sensors.yaml"
    assert main(["stations", str(text(tmp_path / name, FILES[name])), *NEW, "--out", str(out)]) == 0
    assert places(out) == [ARRO]
    sensors = load_sensors(out, load_streams(Path("config/streams.yaml")))  # as config/sensors.yaml
    assert sensors["IV.ARRO"].particulars.place == ARRO[1]


def test_metres_in_a_frame(tmp_path: Path) -> None:
    out, hall = tmp_path / "s.yaml", text(tmp_path / "hall.csv", "sensor,x_m,y_m\nmic-1,0,0\nmic-2,12.5,3\n")
    assert main(["stations", str(hall), *NEW, "--out", str(out)]) == 0
    assert places(out) == [("mic-1", {"x_m": 0.0, "y_m": 0.0}), ("mic-2", {"x_m": 12.5, "y_m": 3.0})]


OTHER = {"area": "stations", "streams": {"seismic": {"point": True}}}
HEADER = "sensor,lat,lon\n"
BAD = [
    (HEADER + "a,42 30 N,13\n", "line 2: sensor 'a': lat is '42 30 N': decimal degrees: this is 42.500000"),
    (HEADER + "a,1,2\nb,0,0\n", "line 3: sensor 'b': lat, lon is (0, 0)"),
    (HEADER + "a,1,2\na,1,3\n", "line 3: sensor 'a' has another place on line 2"),
    (HEADER + "a,1\n", "line 2: "),
    (HEADER + "st/1,1,2\n", "line 2: sensor 'st/1': a text without control characters"),
    (HEADER + ",1,2\n", "line 2: the name of the sensor is empty"),
    (HEADER + "a,,2\n", "line 2: sensor 'a': place is {'lon': 2.0}"),
    ("sensor,lat,lon,elevation_ft\na,1,2,3\n", "the column 'elevation_ft' is in feet"),
    ("sensor,lat,latitude,lon\na,1,2,3\n", "the columns 'lat' and 'latitude' both say lat"),
    ("sensor,lat\na,1\n", "its columns are sensor, lat: needed are sensor, or Network and Station"),
    (HEADER, "no station is in the files"),
]
BAD_XML = [
    ('<!DOCTYPE a [<!ENTITY b "c">]><FDSNStationXML/>', "line 1: it declares a document type"),
    ("<?xml version='1.0' encoding='rot13'?><FDSNStationXML/>", "no XML that can be read, such as UTF-8"),
    ("<FDSNStationXML>" + "<a>" * 64, "elements are nested more than 64 deep"),
    ("<html/>", "it begins with <html>, not <FDSNStationXML>"),
    ("<FDSNStationXML>\n<Network>", "line 2: no XML: no element found"),
    (XML.replace("42.5792", "?"), "line 5: sensor 'IV.ARRO': lat is '?': a number, not a text"),
]
BAD_GEOJSON = [
    ("{}", "a FeatureCollection with a list of features is needed"),
    (json.dumps({"features": [POINT, {"geometry": {"type": "LineString"}}]}), "feature 2: no point with"),
    (json.dumps({"features": [], "crs": {"name": "EPSG:32633"}}), "longitude and latitude, WGS 84, are needed"),
]


@pytest.mark.parametrize(
    ("suffix", "content", "said"),
    [(kind, *each) for kind, all_ in ((".csv", BAD), (".xml", BAD_XML), (".json", BAD_GEOJSON)) for each in all_],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, capsys: Any, suffix: str, content: str, said: str
) -> None:
    file = text(tmp_path / f"stations{suffix}", content)
    assert main(["stations", str(file), *NEW]) == 1
    written = capsys.readouterr()
    assert said in written.err
    assert written.out == ""


def test_a_name_that_is_no_utf_8(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "stations.csv"
    file.write_bytes(b"sensor,lat,lon\n\xff,1,1\n")
    assert main(["stations", str(file), *NEW]) == 1
    assert "line 2: sensor '\\udcff': a text without control characters" in capsys.readouterr().err


def test_the_rest_goes_on_where_that_is_asked_for(tmp_path: Path, capsys: Any) -> None:
    file = text(tmp_path / "stations.csv", HEADER + "a,1,2\nb,91,2\nc,3,4\n")
    assert main(["stations", str(file), *NEW, "--skip-bad"]) == 0
    written = capsys.readouterr()
    assert [each["id"] for each in yaml.safe_load(written.out)["sensors"]] == ["a", "c"]
    assert "line 3: sensor 'b': lat is 91.0" in written.err


def test_stations_become_sensors_of_a_running_system_and_sensors_get_their_places(
    one_process: OneProcess, tmp_path: Path, capsys: Any
) -> None:
    url = one_process.layout.url("ingest")
    stations = text(tmp_path / "stations.csv", "sensor,lat,lon,elevation\nst-1,42.5,13,10\nst-2,42.6,13.1,20\n")
    moved = text(tmp_path / "moved.csv", "sensor,lat,lon\nst-2,42.7,13.1\nst-3,42.6,13.1\n")
    new = ["--area", "stations", "--stream", "seismic", "--uncertainty", "normal:0.2"]
    with nothing_left(one_process):
        one_process.ingest.put("/v1/sensors/st-1", json=OTHER).raise_for_status()
        assert main(["stations", str(stations), *new, "--to", url]) == 1
        said = capsys.readouterr().err
        assert "sensor 'st-1' was refused: it is there and differs" in said
        assert "1 refused, 1 created" in said
        assert main(["stations", str(stations), *new, "--to", url, "--overwrite"]) == 0
        assert "1 replaced, 1 unchanged" in capsys.readouterr().err
        assert main(["stations", str(moved), "--to", url]) == 1
        assert "1 placed, 1 refused" in capsys.readouterr().err
        sensor = one_process.ingest.get("/v1/sensors/st-2").json()
    assert (sensor["place"], sensor["version"]) == ({"lat": 42.7, "lon": 13.1}, 2)
    assert list(sensor["streams"]) == ["seismic"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--area", "italy"], "argument --stream: needed"),
        (["--to", "ftp://x"], "an address such as http://127.0.0.1:8000"),
        ([*NEW, "--overwrite"], "--overwrite: of --to"),
        ([*NEW, "--to", "http://x", "--out", "y"], "--out: YAML is written without --to"),
    ],
)
def test_what_does_not_fit_together(asked: list[str], said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["stations", "x.csv", *asked])
    assert said in capsys.readouterr().err


class _Elsewhere(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_nobody_is_followed_to_another_address(tmp_path: Path, capsys: Any) -> None:
    file = text(tmp_path / "stations.csv", HEADER + "a,1,2\n")
    with HTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        Thread(target=server.handle_request).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert main(["stations", str(file), *NEW, "--to", url]) == 1
    assert f"{url} answers 302" in capsys.readouterr().err


def test_a_system_that_does_not_answer(tmp_path: Path, capsys: Any) -> None:
    file = text(tmp_path / "stations.csv", HEADER + "a,1,2\n")
    assert main(["stations", str(file), "--to", "http://127.0.0.1:1"]) == 1
    assert "http://127.0.0.1:1 does not answer: " in capsys.readouterr().err
