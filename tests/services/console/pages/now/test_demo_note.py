"""The demo that the page sends is the demo that is configured, and `make demo` plays."""

import json
from pathlib import Path
from typing import Any

from coincide.queries import query_from_json
from deploy.host.machine import ROOT
from services.alerting.queries.edits import load_queries
from services.common.settings import load_streams
from services.console.pages.now import demo_note
from services.demo.sn1987a import bursts, posts
from services.ingest.registry.sensors_file import load_sensors

STREAMS = load_streams(ROOT / "config/streams.yaml")


def test_it_declares_what_the_configuration_declares(tmp_path: Path) -> None:
    bodies = {step.change.path: step.change.body for step in demo_note.steps()}
    clocks = named(bodies, "clocks")
    templates: dict[str, Any] = {}
    sensors: list[dict[str, Any]] = []
    for id_, body in named(bodies, "sensors").items():
        forms = {json.dumps(form): form for form in map(own_of, body["streams"].values())}
        templates |= forms
        streams = {stream: naming(said) for stream, said in body["streams"].items()}
        sensors.append({"id": id_, **body, "streams": streams})
    sent = tmp_path / "sensors.yaml"
    sent.write_text(json.dumps({"templates": templates, "sensors": sensors, "clocks": clocks}))
    shipped = load_sensors(ROOT / "config/sensors.yaml", STREAMS)
    detectors = {id_: each for id_, each in shipped.items() if each.area == demo_note.AREA}
    of_page = load_sensors(sent, STREAMS)
    assert len(of_page) == 3
    assert {id_: each.streams for id_, each in of_page.items()} == {
        id_: each.streams for id_, each in detectors.items()
    }
    assert named(bodies, "streams").keys() == {"neutrino", "burst"}
    [asked] = [each for each in load_queries(ROOT / "config/queries.yaml", STREAMS) if each.id == demo_note.QUERY]
    assert query_from_json({**bodies[demo_note.PATH], "id": demo_note.QUERY}) == asked


def named(bodies: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return what was sent of one kind, by its name."""
    return {path.rpartition("/")[2]: body for path, body in bodies.items() if path.startswith(f"/v1/{kind}/")}


def own_of(said: Any) -> Any:
    return said.get("own", said)


def naming(said: Any) -> Any:
    name = json.dumps(own_of(said))
    return {"own": name} if "own" in said else name


def test_it_posts_what_the_three_gateways_post_and_the_bursts_last() -> None:
    *_, detections = demo_note.steps()
    posted = [json.loads(line) for body in (*posts().values(), bursts()) for line in body.splitlines()]
    assert detections.change.body == posted
