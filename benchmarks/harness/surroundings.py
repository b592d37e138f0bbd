"""What a benchmark runs on: the line that says so, and the settings with which everybody keeps memory.

Where memory goes back to the system after each round, what is measured is how fast the system hands it out again: the
answers of some joins have 1.6 GB. So allocators are told to keep what is freed. They read the environment before
Python starts, so a benchmark that wants this runs in a process of its own.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import distributions

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**33),  # glibc's
    "MALLOC_TRIM_THRESHOLD_": str(2**35),
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1",  # of Polars
}

PACKAGES = (
    "numpy",
    "duckdb",
    "polars",
    "pyspark",
    "psycopg",
    "kafka-python",
    "fastapi",
    "uvicorn",
    "uvloop",
    "msgspec",
)


def environment(*, keeps_memory: bool, threads: int) -> dict[str, str]:
    """Return the environment of a benchmark's process; Polars reads its number of threads there."""
    return {**os.environ, "POLARS_MAX_THREADS": str(threads), **(KEEP_MEMORY if keeps_memory else {})}


def machine() -> str:
    """Return the line that says what was measured on: versions of what is installed, and the machine."""
    installed = {each.metadata["Name"]: each.version for each in distributions()}
    versions = [f"{name} {installed[name]}" for name in PACKAGES if name in installed]
    system = [f"Python {platform.python_version()}", platform.machine(), f"{os.cpu_count()} cores"]
    return ", ".join([*versions, *system, f"load average {os.getloadavg()[0]:.1f}"])
