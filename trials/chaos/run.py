"""A run: faults in an order drawn from a seed, one at a time, while gateways post."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

import httpx2
import psutil
import yaml
from kafka.errors import KafkaError

from deploy.host.machine import ROOT, LocalError
from deploy.local.layout import Layout
from deploy.local.system import System
from services.common.settings import CONFIG_VARIABLE, read_yaml
from trials.chaos.balance import QUIET_S, Balance, balance
from trials.chaos.faults.clocks import prepared
from trials.chaos.faults.disks import mounted
from trials.chaos.faults.fault import Fault, NotTriedError, Place
from trials.chaos.load import Load, prepare
from trials.chaos.probe import Probe
from trials.chaos.report import Outcome, write_line
from trials.chaos.watching import Growth, Watch

RECORD = "chaos.jsonl"
TOPICS_FILE = Path("config/topics.yaml")
CALM_S = (2.0, 8.0)  # between two faults
#: Else Spark would look after its state each minute, and hardly ever amid a rebuild.
MAINTAINS_ALL_THE_TIME = {"spark.sql.streaming.stateStore.maintenanceInterval": "1s"}


@dataclass
class Found:
    """What a run has found."""

    outcomes: list[Outcome] = field(default_factory=list)
    balance: Balance | None = None
    growth: dict[str, Growth] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether nothing is lost, extra or twice, and each fault that was tried is survived."""
        tried = [each for each in self.outcomes if each.not_tried is None]
        return self.balance is not None and self.balance.is_even and all(each.survived for each in tried)


@dataclass
class Run:
    """One run in ``folder``: its system, and what it has found so far."""

    folder: Path
    faults: Sequence[Fault]
    seed: int
    soak_s: float
    detections_hz: float = 50.0
    sensors: int = 0
    found: Found = field(default_factory=Found)
    _ends_soon: bool = False

    def end_soon(self) -> None:
        """Try no fault after the present one, and settle the balance."""
        self._ends_soon = True

    def run(self) -> Found:
        """Start the system, do faults until the time is over, each of them once at least, and settle the balance."""
        runtime = self.folder / "running"
        own = _own(runtime) | (prepared(runtime) if any(each.sets_clock for each in self.faults) else {})
        system = System(Layout.isolated(runtime, own))
        stores = dict.fromkeys(runtime / each.fills for each in self.faults if each.fills)
        with mounted(stores) as disks:
            try:
                system.up()
                self._soak(system, disks)
            finally:
                system.down()
        return self.found

    def _soak(self, system: System, disks: frozenset[Path]) -> None:
        random, watch = Random(self.seed), Watch(system)
        load = Load.of(system.layout.url("ingest"), random, self.detections_hz, self.sensors)
        prepare(system, load)
        place, probe = Place(system, load, random, disks), Probe(system, load.ledger)
        with load.running(), watch.running():
            self._do_faults(place, probe)
        self._write("looks", {name: [asdict(each) for each in looks] for name, looks in watch.samples.items()})
        self.found.growth = watch.growth()
        self.found.balance = balance(system, load.ledger)
        self._write("balance", self.found.balance.shortened() | {"posts": load.ledger.posts})

    def _do_faults(self, place: Place, probe: Probe) -> None:
        begun_s = time.monotonic()
        self._note(self._calm(probe))
        for fault in drawn(self.faults, place.random):
            all_done = len(self.found.outcomes) > len(self.faults)
            if self._ends_soon or (all_done and time.monotonic() - begun_s > self.soak_s):
                return
            outcome = self._done(fault, place, probe, time.monotonic() - begun_s)
            self._note(outcome)
            if outcome.not_tried is None and outcome.recovered_s is None:
                return  # nothing after it could be told from it
            time.sleep(place.random.uniform(*CALM_S))

    def _calm(self, probe: Probe) -> Outcome:
        """Measure what a probe takes where there is no fault."""
        return Outcome("none", 0.0, recovered_s=probe.seconds_until_matched())

    def _done(self, fault: Fault, place: Place, probe: Probe, at_s: float) -> Outcome:
        begun_s, before, went_wrong = time.monotonic(), _pids(place.system), ""
        try:
            with fault.applied(place):
                time.sleep(place.random.uniform(*fault.lasts_s))
        except NotTriedError as error:
            return Outcome(fault.name, at_s, not_tried=str(error))
        except (LocalError, OSError, httpx2.HTTPError, KafkaError, psutil.Error) as error:
            went_wrong = f"{type(error).__name__}: {error}"
        lasted_s, recovered_s = time.monotonic() - begun_s, probe.seconds_until_matched()
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        went_wrong = went_wrong or _said_of(_restarted(place.system, before) - fault.touches)
        return Outcome(fault.name, at_s, lasted_s, recovered_s, None, went_wrong or None, load)

    def _note(self, outcome: Outcome) -> None:
        self.found.outcomes.append(outcome)
        self._write("fault", asdict(outcome))
        said = outcome.not_tried or (
            "never" if outcome.recovered_s is None else f"recovered after {outcome.recovered_s:.1f} s"
        )
        more = f"; {outcome.went_wrong}" if outcome.went_wrong else ""
        print(f"{outcome.at_s:6.0f} s  {outcome.fault} ({outcome.lasted_s:.0f} s): {said}{more}", flush=True)

    def _write(self, kind: str, content: dict[str, object]) -> None:
        write_line(self.folder / RECORD, kind, content)


def drawn(faults: Sequence[Fault], random: Random) -> Iterator[Fault]:
    """Yield the faults for ever: all of them in a random order, then all of them in another."""
    while True:
        yield from random.sample(faults, k=len(faults))


def _own(runtime: Path) -> dict[str, str]:
    """Return settings that give each store a folder of its own, which can be a disk that gets full."""
    for name in ("kafka", "state", "database", "config"):
        (runtime / name).mkdir(parents=True, exist_ok=True)
    _declare_topics(runtime / "config")
    return {
        CONFIG_VARIABLE: str(runtime / "config"),
        "COINCIDE_FUSION_CHECKPOINT_PATH": json.dumps(str(runtime / "state" / "checkpoint")),
        "COINCIDE_ALERTING_DATABASE_URL": json.dumps(f"sqlite:///{runtime / 'database' / 'alerting.sqlite3'}"),
        "COINCIDE_FUSION_QUIET_S": str(QUIET_S),
        "COINCIDE_FUSION_SPARK_CONF": json.dumps(MAINTAINS_ALL_THE_TIME),
    }


def _declare_topics(folder: Path) -> None:
    """Have Kafka keep the matches of a few rebuilds: each writes all of them again, and the disks are in memory."""
    declared = read_yaml(ROOT / TOPICS_FILE)
    declared["topics"]["matches"]["configs"] |= {
        "retention.bytes": str(1 << 29),
        "segment.bytes": str(1 << 26),
    }
    (folder / TOPICS_FILE.name).write_text(yaml.safe_dump(declared), encoding="utf-8")


def _pids(system: System) -> dict[str, int]:
    return {name: system.supervision.pid(name) for name in system.processes}


def _restarted(system: System, before: dict[str, int]) -> set[str]:
    """Return the processes that are others than before."""
    return {name for name, pid in _pids(system).items() if pid != before[name]}


def _said_of(untouched: set[str]) -> str:
    return f"started again, too: {', '.join(sorted(untouched))}" if untouched else ""
