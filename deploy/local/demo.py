"""The demo: the real system on the neutrinos of SN1987A, and on what three microphones of a harbour hear now."""

import time
from itertools import islice

from deploy.local.system import HARBOUR, System
from services.demo.harbour import BANG
from services.demo.programme import OF_NOW, addresses, applied_query, bang_sentence, new_bangs, show_1987


def run_demo(system: System, *, detach: bool) -> None:
    """Show 1987 and now on a running ``system``; then, unless ``detach``, go on until Ctrl-C and stop everything."""
    print(f"Open {system.layout.url('console')}/ in a browser: it shows what happened in 1987, and what happens now.\n")
    try:
        applied_query(system, BANG)
        start_us = time.time_ns() // 1_000
        system.supervision.start_process(HARBOUR)  # the first bang takes its time, so it begins before the rest
        show_1987(system)
        _print_urls(system)
        print(f"\n{OF_NOW}")
        print("" if detach else "Ctrl-C stops everything.")
        bangs = new_bangs(system, start_us)
        for bang in islice(bangs, 1) if detach else bangs:
            print(bang_sentence(bang), flush=True)
    except KeyboardInterrupt:
        _stop(system)
    else:
        print("\nIt stays up and the bangs go on; `make down` stops it.")


def _stop(system: System) -> None:
    print("\nStopping everything in order ...", flush=True)
    killed = system.down()
    print(f"Down; these had to be killed: {', '.join(killed)}" if killed else "Down.")


def _print_urls(system: System) -> None:
    ingest, alerting = system.layout.url("ingest"), system.layout.url("alerting")
    print(f"console      {system.layout.url('console')}/")
    print("\n".join(addresses(ingest, alerting)))
    print(f"API          {ingest}/openapi.json  {alerting}/openapi.json")
    if system.layout.archives:
        print("archive      .local/archive: all detections in Parquet; docs/how-to/ask-the-past.md asks queries of it")
        print(f"runs         {system.layout.url('history')}/v1/history-runs")
    print(f"metrics      {ingest}/metrics  {alerting}/metrics  {system.layout.url('fusion')}/metrics")
