"""Lines forward what they hear or find to a line above, which joins it: nothing is lost, and nothing comes twice."""

import json
import time
from pathlib import Path
from typing import Any

from deploy.host.machine import free_ports
from services.common.local_log.local_log import LocalLog
from services.common.topics.topic_names import DEFAULT_NAMES
from tests.integration.line_process import LineProcess, running_line
from tests.patience import until

PAIR = {
    "from": {"a": "acoustic", "b": "acoustic"},
    "within": [{"between": ["a", "b"], "window_s": 0.2, "threshold": 0.5}],
    "sensors": "different",
}
NEARLY_TOO_FAR_US = 195_000  # so that the probability depends on how exact the microphones are
BEGAN_S = time.time_ns() // 1_000_000_000 - 60


def prepare_edge(edge: LineProcess, area: str, error_s: float = 0.01) -> None:
    """Two microphones, and a query that finds what both hear."""
    for each in "ab":
        edge.put(
            f"/v1/sensors/{area}-{each}", {"area": area, "streams": {"acoustic": {"uniform": [-error_s, error_s]}}}
        )
    edge.put("/v1/queries/heard", PAIR)


def prepare_above(above: LineProcess) -> None:
    """Each edge is a sensor, whatever its own template: a match brings its uncertainty along."""
    for area in ("quay", "pier"):
        above.put(f"/v1/sensors/{area}-heard", {"area": "harbour", "streams": {"acoustic": {"uniform": [-0.05, 0.05]}}})
    above.put("/v1/queries/both", PAIR)


def hear(edge: LineProcess, area: str, second: int, apart_us: int = 0) -> None:
    times_us = {"a": (BEGAN_S + second) * 1_000_000, "b": (BEGAN_S + second) * 1_000_000 + apart_us}
    edge.post(
        *({"sensor": f"{area}-{each}", "detected_at": at, "id": f"{area} {second}"} for each, at in times_us.items())
    )


def told_above(folder: Path, query: str) -> list[dict[str, Any]]:
    """Return every record of matches of the line above, as its log has them."""
    log = LocalLog(folder / "log.sqlite3")
    try:
        with log.reader() as reader:
            partitions = reader.partitions_of(DEFAULT_NAMES.full("matches"))
            reader.read_from(dict.fromkeys(partitions))
            records = [json.loads(each.value or b"") for some in reader.up_to(reader.ends(partitions)) for each in some]
    finally:
        log.close()
    return [each for each in records if each["query"] == query]


def seconds_of(matches: list[dict[str, Any]]) -> list[int]:
    return sorted(round(each["members"][0]["detected_at_us"] / 1e6) - BEGAN_S for each in matches)


def test_two_edges_and_a_line_above_that_is_away_for_a_while(tmp_path: Path) -> None:
    [port] = free_ports(1)

    def forwarding(area: str) -> str:
        return json.dumps(
            {
                "to": f"http://127.0.0.1:{port}",
                "what": "matches",
                "queries": ["heard"],
                "sensor": f"{area}-{{query}}",
                "timeout_s": 5,
            }
        )

    with (
        running_line(tmp_path / "quay", COINCIDE_LINE_FORWARD=forwarding("quay")) as quay,
        running_line(tmp_path / "pier", COINCIDE_LINE_FORWARD=forwarding("pier")) as pier,
    ):
        edges = {"quay": quay, "pier": pier}
        for area, edge in edges.items():
            prepare_edge(edge, area)
        with running_line(tmp_path / "above", port=port) as above:
            prepare_above(above)
            for area, edge in edges.items():
                hear(edge, area, 1)
            until(lambda: seconds_of(above.matches("both")) == [1])
        hear(quay, "quay", 2)
        hear(pier, "pier", 2)  # while nobody is above
        for edge in edges.values():
            edge.wait_for("/components/forwarding/readyz", 503)
        with running_line(tmp_path / "above", port=port) as above:
            until(lambda: seconds_of(above.matches("both")) == [1, 2])
            for area, edge in edges.items():
                hear(edge, area, 3)
            until(lambda: seconds_of(above.matches("both")) == [1, 2, 3])
            for edge in edges.values():
                edge.wait_for("/components/forwarding/readyz", 200)
                metrics = edge.call("GET", "/components/forwarding/metrics").text
                assert "coincide_forwarding_detections_total 3.0" in metrics
            found = above.matches("both")
    told = told_above(tmp_path / "above", "both")
    assert sorted(each["id"] for each in told) == sorted(each["id"] for each in found)
    for match in found:
        assert {each["sensor"] for each in match["members"]} == {"quay-heard", "pier-heard"}
        widths_us = [each["latest_us"] - each["earliest_us"] for each in match["members"]]
        assert max(widths_us) < 50_000  # of the matches below, and not of the templates here


def test_detections_are_joined_above_as_they_are_below_though_the_edge_is_killed(tmp_path: Path) -> None:
    [port] = free_ports(1)
    forward = json.dumps({"to": f"http://127.0.0.1:{port}", "what": "detections", "timeout_s": 5})
    edge_folder, above_folder = tmp_path / "edge", tmp_path / "above"
    with running_line(above_folder, port=port) as above:
        prepare_edge(above, "quay", error_s=0.05)
        with running_line(edge_folder, COINCIDE_LINE_FORWARD=forward) as edge:
            prepare_edge(edge, "quay")
            hear(edge, "quay", 1, NEARLY_TOO_FAR_US)
            until(lambda: len(above.matches("heard")) == 1)
    with running_line(edge_folder, COINCIDE_LINE_FORWARD=forward) as edge:
        hear(edge, "quay", 2, NEARLY_TOO_FAR_US)
        edge.wait_for("/components/forwarding/readyz", 503)
    with running_line(edge_folder, COINCIDE_LINE_FORWARD=forward) as edge:
        hear(edge, "quay", 3, NEARLY_TOO_FAR_US)
        with running_line(above_folder, port=port) as above:
            until(lambda: len(above.matches("heard")) == 3)
            until(lambda: len(edge.matches("heard")) == 3)
            found = {each["id"]: each["probability"] for each in above.matches("heard")}
            assert found == {each["id"]: each["probability"] for each in edge.matches("heard")}
    assert len(told_above(above_folder, "heard")) == 3
