"""The fusion job: `python -m spark_jobs.fusion [--config FILE] [--master URL] [--rebuild | --ask-for-rebuild]`."""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from coincide import Stream
from coincide.fusion.batches.cores import CoreFactory, FusionCores
from coincide.sliding.choice import SlidingCosts
from coincide.sliding.measured_costs import measure_sliding_costs
from services.common.engine.fusion_settings import FusionSettings
from services.common.program.skeleton import exit_status, parser_of, settings_of
from services.common.program.stop_signals import stop_event
from services.common.settings import load_streams
from spark_jobs.job.lifecycle import FusionJob
from spark_jobs.job.session import SessionError
from spark_jobs.recovery.checkpoint import LockError, ask_for_rebuild

logger = logging.getLogger("spark_jobs.fusion")  # as a module that is run it has another name

CoresOf = Callable[[FusionSettings, Mapping[str, Stream]], CoreFactory]


def main(arguments: Sequence[str] | None = None, cores_of: CoresOf | None = None) -> int:
    """Run the job until SIGTERM or SIGINT; return the exit status.

    That is 0, or, after one sentence on standard error, `REFUSED` where a setting cannot work, else 1. `cores_of`
    gives other cores than the fusion cores; the benchmark of the transport alone does.
    """
    given = _parser().parse_args(arguments)
    return exit_status("fusion", lambda: _run(given, cores_of or _fusion_cores), LockError, SessionError)


def _run(given: argparse.Namespace, cores_of: CoresOf) -> None:
    settings = settings_of(FusionSettings, given)
    if given.ask_for_rebuild:
        ask_for_rebuild(settings.checkpoint_path)
        return
    cores = cores_of(settings, load_streams(settings.streams_path))
    FusionJob(settings, cores, stop_event()).run(rebuild=given.rebuild)


def _fusion_cores(settings: FusionSettings, streams: Mapping[str, Stream]) -> CoreFactory:
    return FusionCores(streams, settings.limits, _unit_costs(), time.thread_time)


def _unit_costs() -> SlidingCosts:
    """Measure once what coalescing costs where the driver runs: all shards go by it until the job starts again."""
    costs = measure_sliding_costs(time.process_time)
    listed = ", ".join(f"{operation} {1e6 * seconds:.2g}" for operation, seconds in asdict(costs).items())
    logger.info("unit costs of coalescing readings, in microseconds: %s", listed)
    return costs


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("spark_jobs.fusion", "Join detections as they come.", Path("config/fusion.yaml"))
    parser.add_argument("--master", help="Spark master; wins over the setting of that name")
    anew = parser.add_mutually_exclusive_group()
    anew.add_argument(
        "--rebuild", action="store_true", help="delete the checkpoint and begin anew from the start of the topics"
    )
    anew.add_argument(
        "--ask-for-rebuild", action="store_true", help="let the job that runs, or its next start, do that, and end"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
