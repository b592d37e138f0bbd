"""The Central Italy hour in three areas side by side, while fusion, alerting and Kafka are killed, each once.

In one process all of them are one, which is killed three times.

In one area a query's threshold changes amid the posts, and some picks come a quarter of an hour late. In another one
queries of three roles are asked.
"""

import time
from dataclasses import dataclass, replace

from tests.acceptance import italy
from tests.acceptance.line import Line, Scenario, posting
from tests.integration.service_process import archived_rows
from tests.patience import until

AREAS = ("killed", "many", "past")
LATE = 200
CHANGED = replace(italy.NEIGHBOURS, query="changed")
NEAR_RULE = {"gap_s": 0.2, "by": [], "interval": "occurred"}
AFTER_RULE = {"gap_s": 0.2, "by": ["a.sensor"], "interval": "hull"}
NEAR_EDGE = {"window_s": 0.5, "threshold": 0.6}
AFTER_EDGE = {"lo_s": 0, "hi_s": 0.5, "threshold": 0.6}
ROLES = dict.fromkeys(("a", "b", "c"), "p_many")
OF_THREE = {
    "two-of-three": {"from": ROLES, "form": "clique", "within": [NEAR_EDGE], "at_least": 2, "coalesce": NEAR_RULE},
    "in-a-row": {"from": ROLES, "form": "path", "within": [AFTER_EDGE], "coalesce": AFTER_RULE},
}


@dataclass
class Hour:
    """What was posted to each of the areas, all of it dealt with, and when that began."""

    line: Line
    begun_us: int
    killed: Scenario
    many: Scenario
    past: Scenario


def post_hour(line: Line) -> Hour:
    """Post the hour to all three areas; return when all is dealt with and archived."""
    begun_us = time.time_ns() // 1_000
    line.put(CHANGED, "past")
    for id_, document in OF_THREE.items():
        assert line.system.alerting.put(f"/v1/queries/{id_}", json=document).status_code == 201
    hour = Hour(
        line, begun_us, Scenario(line, "killed"), Scenario(line, "many", streams="many"), Scenario(line, "past")
    )
    _post_while_processes_are_killed(hour)
    for scenario in (hour.killed, hour.many, hour.past):
        scenario.wait_until_dealt_with()
    line.system.wait_ready()
    if line.system.layout.archives:
        posted = sum(len(each.accepted) for each in (hour.killed, hour.many, hour.past))
        until(lambda: archived_rows(line.system.layout.url("archive")) >= posted)
    return hour


def _post_while_processes_are_killed(hour: Hour) -> None:
    line, past = hour.line, italy.parts(seed=11, count=4)
    late, past[0] = past[0][:LATE], past[0][LATE:]
    killed = italy.parts(seed=3, count=3)
    many = [pick for pick in italy.arrivals(seed=8) if pick.phase == "P"]
    for scenario, picks in ((hour.past, past[0]), (hour.killed, killed[0]), (hour.many, many[: len(many) // 2])):
        scenario.post(picks)
    with posting(hour.past, past[1]):
        for version, threshold in enumerate((0.9, 0.3, 0.7), 2):
            line.set_threshold(replace(CHANGED, version=version, threshold=threshold))
    with (
        posting(hour.past, past[2]),
        posting(hour.killed, killed[1]),
        posting(hour.many, many[len(many) // 2 :]),
    ):
        line.system.kill("fusion")
        line.system.kill("alerting")
    with posting(hour.killed, killed[2]):
        line.system.kill("kafka")
    hour.past.wait_until_dealt_with()  # else fusion may know version 5 before it reads what version 4 has to judge
    line.set_threshold(replace(CHANGED, version=5, threshold=0.5))
    half = len(past[3]) // 2
    hour.past.post([*past[3][:half], *late, *past[3][half:]])
