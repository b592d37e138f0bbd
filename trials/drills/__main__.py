"""``python -m trials.drills [WORD...]``: drill every fault whose name has one of the words, and print a table."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.host.machine import LocalError, exit_with
from deploy.local.layout import Layout
from deploy.local.monitor import find_programs
from deploy.local.start_progress import lines
from deploy.local.system import HARBOUR, System
from services.demo.harbour import BANG
from services.demo.programme import applied_query, post_all
from trials.drills import first_row
from trials.drills.drill import Outcome, drill, wait_for_calm
from trials.drills.faults import FAULTS, Fault, Line
from trials.drills.gateways import Gateways, declared
from trials.drills.monitoring import Monitoring, monitored
from trials.drills.table import table

OWN = {
    "COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true",  # Alertmanager is on this machine
    "COINCIDE_ALERTING_WATCHES_DRIFT": "false",  # the clocks of our sensors are made up
}


def chosen(words: Sequence[str]) -> list[Fault]:
    """Return the faults whose names have one of ``words`` in them; all where none is given."""
    found = [each for each in FAULTS if not words or any(word.lower() in each.name.lower() for word in words)]
    if not found:
        names = "; ".join(each.name for each in FAULTS)
        raise LocalError(f"no fault has {' or '.join(map(repr, words))} in its name: there are {names}")
    return found


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


def _drilled(faults: Sequence[Fault], line: Line, monitoring: Monitoring) -> Iterator[Outcome]:
    for fault in faults:
        if not wait_for_calm(monitoring):
            said = [each for each in first_row.shown(monitoring.ask) if each.colour not in first_row.KNOWN]
            raise LocalError(f"the line is not calm: {sorted(monitoring.ringing())} ring, and the first row has {said}")
        yield drill(fault, line, monitoring, _say)


def _main() -> None:
    faults, outcomes = chosen(sys.argv[1:]), list[Outcome]()
    find_programs()  # the system takes minutes to start
    with tempfile.TemporaryDirectory(prefix="coincide-drill-") as folder, _line(Path(folder)) as (line, monitoring):
        for outcome in _drilled(faults, line, monitoring):
            outcomes.append(outcome)
            _say(table([outcome]))
            heard = {**outcome.during.said, **outcome.after.said}
            _say("\n".join(f"  {alert}: {said}" for alert, said in heard.items()))
    _say("\n" + table(outcomes))
    if not all(each.is_good for each in outcomes):
        raise LocalError("some bars do not hold")


if __name__ == "__main__":
    exit_with(_main)
