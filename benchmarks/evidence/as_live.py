"""What the engine of a running system says of a simulated log, match by match, and whether that is true."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import Output
from tests.coincide.fusion.inputs import Row, frame, put
from tests.reference.event_networks import Bin, Log, Simulation, tenths

STREAM = Stream("heard", max_delay_s=5, longest_template_s=10)
ROWS_A_FRAME = 500
BEGUN_S, LONG_AFTER_S = 1_000_000.0, 100_000.0


@dataclass
class Said:
    """Of each match with evidence: its posterior, its members, how probable it is that each belongs, and the source."""

    posterior: list[float] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    belongs: list[list[float]] = field(default_factory=list)
    rates: list[str] = field(default_factory=list)

    def take(self, output: Output) -> None:
        """Take what one batch has told."""
        for record in map(json.loads, (each.value for each in output.evidence)):
            if record["posterior"] is not None:
                self.posterior.append(record["posterior"])
                self.members.append([int(each["id"]) for each in record["members"]])
                self.belongs.append([each["belongs"] for each in record["members"]])
                self.rates.append(record["rates"])

    def of_matches(self, log: Log) -> list[Bin]:
        """Return tenths of the posterior that all members are of one event, whoever else is of it.

        Matches that have their first member in common are right or wrong together: first members are counted.
        """
        true = [log.event[own[0]] >= 0 and len({int(log.event[each]) for each in own}) == 1 for own in self.members]
        return tenths(
            np.array(self.posterior), np.array(true, np.bool_), of=np.array([min(own) for own in self.members])
        )

    def of_members(self, log: Log) -> list[Bin]:
        """Return tenths of the posterior that a member is of one event with another, counted alike."""
        true = [belong for own in self.members for belong in _with_another(log.event[own].tolist())]
        said = np.array([each for own in self.belongs for each in own])
        first = np.array([min(own) for own in self.members for _ in own])
        return tenths(said, np.array(true, np.bool_), of=first)


def _with_another(events: list[int]) -> Iterable[bool]:
    return (event >= 0 and events.count(event) > 1 for event in events)


def said_live(simulation: Simulation, log: Log, event: dict[str, object], threshold: float = 0.01) -> Said:
    """Run the engine over the log, all of one area, with a query that has this `event`."""
    query = {
        "id": "one-event",
        "from": dict.fromkeys(simulation.names, STREAM.name),
        "form": "clique",
        "within": [{"window_s": 0.8, "threshold": threshold}],
        "event": event,
        **({"at_least": 2} if simulation.sensors > 2 else {}),
    }
    core, said = FusionCore({STREAM.name: STREAM}, Limits(max_matches_per_s=1_000_000), 0), Said()
    core.push([put(0, query)])
    rows = [_row(simulation, log, each) for each in np.argsort(log.at_us, kind="stable").tolist()]
    rows.append(Row("after", rows[-1].at_s + LONG_AFTER_S, stream=STREAM.name, sensor="another"))
    for nth, first in enumerate(range(0, len(rows), ROWS_A_FRAME)):
        said.take(core.push([frame(nth, rows[first : first + ROWS_A_FRAME])]))
    return said


def _row(simulation: Simulation, log: Log, nth: int) -> Row:
    sensor, at_s = int(log.sensor[nth]), BEGUN_S + int(log.at_us[nth]) / 1e6
    return Row(f"{nth}", at_s, simulation.templates[sensor], STREAM.name, simulation.names[sensor])
