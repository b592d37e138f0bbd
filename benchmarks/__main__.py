"""Run every benchmark, one after the other, each in a process of its own: ``make bench``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version

BENCHMARKS = (
    "satisfaction_table",
    "occurred",
    "joint_probability",
    "timing_join",
    "streaming_join",
    "paper_costs",
    "window_join",
    "window_join_streaming",
    "window_join_costs",
    "window_join_italy",
    "coalescing",
    "coalescing_costs",
    "coalescing_unit_costs",
    "sliding_unit_costs",
    "coalescing_schemes",
    "coalescing_streaming",
    "central_italy_precision",
    "central_italy_episodes",
    "central_italy_events",
    "figures",
    "fusion_core",
    "ingest",
    "latency",
    "throughput",
)
PACKAGES = ("numpy", "matplotlib", "duckdb", "polars", "pyspark", "kafka-python", "fastapi", "uvicorn", "msgspec")


def main() -> int:
    """Run those named on the command line, or all; return how many failed."""
    named = sys.argv[1:] or BENCHMARKS
    if unknown := set(named) - set(BENCHMARKS):
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES), flush=True)
    failed = 0
    for name in named:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
