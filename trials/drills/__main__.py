"""``python -m trials.drills [WORD...]``: drill every fault whose name has one of the words, and print a table."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.local.demo import applied_query, post_all
from deploy.local.harbour import BANG
from deploy.local.layout import Layout
from deploy.local.machine import LocalError, exit_with
from deploy.local.progress import lines
from deploy.local.system import HARBOUR, System
from trials.drills import first_row
from trials.drills.drill import Outcome, drill, wait_for_calm
from trials.drills.faults import FAULTS, Line
from trials.drills.gateways import Gateways, declared
from trials.drills.monitoring import Monitoring, monitored
from trials.drills.table import table

OWN = {
    "COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true",  # Alertmanager is on this machine
    "COINCIDE_ALERTING_WATCHES_DRIFT": "false",  # the clocks of our sensors are made up
}


def _say(sentence: str) -> None:
    print(sentence, flush=True)


@contextmanager
def _line(folder: Path) -> Iterator[tuple[Line, Monitoring]]:
    """Run the demo's system and its data, sensors of our own that report all the time, and who watches it."""
    system = System(Layout.isolated(folder, OWN))
    try:
        system.up(lines())
        applied_query(system, BANG)
        system.supervision.start_process(HARBOUR)
        post_all(system)
        declared(system)
        with monitored(system.layout) as monitoring, Gateways(system) as gateways:
            receiver = {"alertmanager": {"url": monitoring.alertmanager, "repost_s": 10}}
            system.alerting.put("/v1/receivers/alertmanager", json=receiver).raise_for_status()
            yield Line(system, gateways), monitoring
    finally:
        system.down()


def _drilled(words: Sequence[str], line: Line, monitoring: Monitoring) -> Iterator[Outcome]:
    for fault in FAULTS:
        if words and not any(word.lower() in fault.name.lower() for word in words):
            continue
        if not wait_for_calm(monitoring):
            said = [each for each in first_row.shown(monitoring.ask) if each.colour not in first_row.KNOWN]
            raise LocalError(f"the line is not calm: {sorted(monitoring.ringing())} ring, and the first row has {said}")
        yield drill(fault, line, monitoring, _say)


def _main() -> None:
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="coincide-drill-") as folder, _line(Path(folder)) as (line, monitoring):
        for outcome in _drilled(sys.argv[1:], line, monitoring):
            outcomes.append(outcome)
            _say(table([outcome]))
            heard = {**outcome.during.said, **outcome.after.said}
            _say("\n".join(f"  {alert}: {said}" for alert, said in heard.items()))
    _say("\n" + table(outcomes))
    if not all(each.is_good for each in outcomes):
        raise LocalError("some bars do not hold")


if __name__ == "__main__":
    exit_with(_main)
