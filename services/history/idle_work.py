"""Runs have the cores only while nobody else wants them."""

import os
from contextlib import suppress
from pathlib import Path

LEAST = 19  # how nice a run is where there is no idle class, as on macOS, and how nice a session of its own is
AUTOGROUP = Path("/proc/self/autogroup")


def yield_to_live_work() -> None:
    """Let this thread, and processes that it starts, have the cores only while nobody else wants them.

    To be nice is not enough: even at 19 a run keeps a core for milliseconds while a batch of the live line waits. Linux
    shares the cores first among sessions, and the idle class counts within one only. So a session of our own yields as
    a whole, as far as a session can.
    """
    if not hasattr(os, "SCHED_IDLE"):
        os.nice(LEAST)
        return
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel without groups of sessions
            AUTOGROUP.write_text(str(LEAST))
