"""How a process that waits for an event is told by a signal to stop."""

import signal
import threading
from _thread import start_new_thread


def stop_event() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stopping = threading.Event()
    set_by_signals(stopping, signal.SIGTERM, signal.SIGINT)
    return stopping


def set_by_signals(stopping: threading.Event, *numbers: signal.Signals) -> None:
    """Let each of these signals set the event.

    A handler runs in the main thread between any two lines, also of the event's own `wait`. There it would wait for the
    lock that the wait holds, for ever. So another thread sets the event; `threading.Thread` takes a lock, too.
    """
    for number in numbers:
        signal.signal(number, lambda *_: start_new_thread(stopping.set, ()))
