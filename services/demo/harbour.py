"""What three microphones of a harbour hear now: made up, and posted as gateways post, until SIGTERM.

``make demo`` runs it as a process, told where ingest is (``COINCIDE_LOCAL_INGEST``). ``coincide serve --demo`` plays it
in a thread. Every 10 to 14 s there is a bang. Each microphone may miss it, and reports it as late, or with as wrong
a clock, as its template in config/sensors.yaml says. That makes 3 detections in 10 s at most, on average one in 5 s.
"""

import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from coincide import Histogram
from services.common.access.component_access import trust_context
from services.common.operations import configure_logs
from services.common.program.skeleton import exit_status
from services.common.program.stop_signals import set_by_signals
from services.common.settings import SettingsError, load_streams
from services.common.shipped_config import SHIPPED_CONFIG
from services.ingest.registry.sensors_file import load_sensors

#: Ids as in config/: the area, its stream, and the query that looks for bangs.
AREA, STREAM, BANG = "harbour", "noise", "bang"
#: From one round to the next; even the latest report of a bang comes before the earliest of the next.
APART_S = (10.0, 14.0)
#: What is older is not posted: after an outage or a sleep it would be late.
TOO_OLD_S = 5.0

_BANG_AFTER_S = 4.0
_SOUND_TRAVELS_S = 1.0
_HEARD = 0.75
_HTTP_TIMEOUT_S = 5.0

log = logging.getLogger("harbour")


def microphones() -> dict[str, Histogram]:
    """Return the template of each microphone by sensor id; a `SettingsError` where config/sensors.yaml has none."""
    sensors = load_sensors(SHIPPED_CONFIG / "sensors.yaml", load_streams(SHIPPED_CONFIG / "streams.yaml"))
    templates = {id_: each.streams[STREAM] for id_, each in sensors.items() if each.area == AREA}
    if not templates:
        raise SettingsError(f"config/sensors.yaml has no sensor of area {AREA}")
    return templates


def reports(start_s: float, templates: Mapping[str, Histogram], dice: random.Random) -> list[tuple[float, str]]:
    """Return (reported time in seconds, sensor) for each microphone that hears the bang, in the order of time.

    A template is the distribution of occurrence less reported time, so a draw from it is taken away.
    """
    by_time = []
    for sensor, template in templates.items():
        if dice.random() < _HEARD:
            occurred_s = start_s + _BANG_AFTER_S + dice.uniform(0, _SOUND_TRAVELS_S)
            by_time.append((occurred_s - float(template.quantile(dice.random())), sensor))
    return sorted(by_time)


def play(
    ingest: httpx2.Client,
    templates: Mapping[str, Histogram],
    stopped: threading.Event,
    clock: Callable[[], float] = time.time,
) -> None:
    """Post each report when its time has come, until ``stopped``; one seed decides all but the time of the start.

    What ingest does not take is not posted again: the next bang comes soon.  ``clock`` tells seconds since the epoch.
    """
    dice = random.Random(1987)  # noqa: S311 - a play, no secret

    def wait_until(moment_s: float) -> None:
        # never longer than a round, also where the clock was set back meanwhile
        stopped.wait(min(max(moment_s - clock(), 0.0), APART_S[1]))

    while not stopped.is_set():
        start_s = clock()
        for reported_s, sensor in reports(start_s, templates, dice):
            wait_until(reported_s)
            if not stopped.is_set():
                too_old = clock() - reported_s > TOO_OLD_S
                outcome = "too old to be posted" if too_old else _post(ingest, sensor, reported_s)
                log.info("%s at %.3f: %s", sensor, reported_s, outcome)
        wait_until(start_s + dice.uniform(*APART_S))


def _post(ingest: httpx2.Client, sensor: str, reported_s: float) -> str:
    """Return what became of it, as ingest says or as the connection ended."""
    detection = {"sensor": sensor, "stream": STREAM, "detected_at": datetime.fromtimestamp(reported_s, UTC).isoformat()}
    try:
        answer = ingest.post("/v1/detections", json=[detection])
    except httpx2.HTTPError as error:
        return f"not posted, {type(error).__name__} {error}"
    accepted = answer.status_code == httpx2.codes.ACCEPTED and answer.json()["accepted"] == 1
    return "accepted" if accepted else f"answered {answer.status_code} {answer.text}"


def _main() -> None:
    configure_logs()
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line for each request would say it twice
    stopped = threading.Event()
    set_by_signals(stopped, signal.SIGTERM)
    trusted = os.environ["COINCIDE_LOCAL_TRUSTED"]
    trust = trust_context(Path(trusted) if trusted else None)
    with httpx2.Client(base_url=os.environ["COINCIDE_LOCAL_INGEST"], timeout=_HTTP_TIMEOUT_S, verify=trust) as ingest:
        play(ingest, microphones(), stopped)
    log.info("stopped")


if __name__ == "__main__":
    sys.exit(exit_status("harbour", _main))
