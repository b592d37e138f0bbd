"""A signal stops a process wherever in its wait it comes."""

import subprocess
import sys

from deploy.host.machine import ROOT

#: Raise the signal at the n-th line that a wait runs, for each of them.
AT_EVERY_LINE = """
import signal, sys, threading
from services.common.program.stop_signals import set_by_signals

def lines_of_a_wait(stopping, nth):
    count = 0
    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != threading.__file__:
            return None
        if event == "line":
            count += 1
            if count == nth:
                signal.raise_signal(signal.SIGTERM)
        return trace
    sys.settrace(trace)
    stopping.wait(0.01)
    sys.settrace(None)
    return count

lines = lines_of_a_wait(threading.Event(), 0)
for nth in range(1, lines + 1):
    stopping = threading.Event()
    set_by_signals(stopping, signal.SIGTERM)
    lines_of_a_wait(stopping, nth)
    assert stopping.wait(60), nth
print(lines)
"""


def test_a_signal_in_the_midst_of_a_wait_ends_it() -> None:
    command = [sys.executable, "-c", AT_EVERY_LINE]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert int(ran.stdout) > 5
