"""The demo that the page sends is the demo that is configured, and `make demo` plays."""

import json

import yaml

from coincide.queries import query_from_json
from deploy.host.machine import ROOT
from services.console.pages.now import demo_note
from services.demo.sn1987a import posts


def test_it_declares_what_the_configuration_declares() -> None:
    bodies = {step.change.path: step.change.body for step in demo_note.steps()}
    streams = yaml.safe_load((ROOT / "config/streams.yaml").read_text())["streams"]
    assert bodies["/v1/streams/neutrino"] == streams["neutrino"]
    declared = yaml.safe_load((ROOT / "config/sensors.yaml").read_text())
    detectors = [each for each in declared["sensors"] if each["area"] == demo_note.AREA]
    assert len(detectors) == 3
    for each in detectors:
        template = declared["templates"][each["streams"]["neutrino"]]
        assert bodies[f"/v1/sensors/{each['id']}"] == {"area": demo_note.AREA, "streams": {"neutrino": template}}
    queries = yaml.safe_load((ROOT / "config/queries.yaml").read_text())["queries"]
    [asked] = [each for each in queries if each["id"] == demo_note.QUERY]
    sent = {**bodies[f"/v1/queries/{demo_note.QUERY}"], "id": demo_note.QUERY}
    assert query_from_json(sent) == query_from_json(asked)


def test_it_posts_what_the_three_gateways_post() -> None:
    *_, detections = demo_note.steps()
    posted = [json.loads(line) for body in posts().values() for line in body.splitlines()]
    assert detections.change.body == posted
