"""Benchmarks begun again with allocators that keep what is freed: they read the environment before Python starts.

Where memory goes back to the system after each round, what is measured is how fast the system hands it out again.
"""

from __future__ import annotations

import os
import sys

KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**33), "MALLOC_TRIM_THRESHOLD_": str(2**35)}  # glibc's


def with_memory_kept(module: str) -> None:
    """Run the module anew so, unless that has happened; peers get as many threads as `--threads` says, else one."""
    if os.environ.items() >= KEEP_MEMORY.items():
        return
    threads = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
    wanted = {**KEEP_MEMORY, "_RJEM_MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1", "POLARS_MAX_THREADS": threads}
    os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], {**os.environ, **wanted})
