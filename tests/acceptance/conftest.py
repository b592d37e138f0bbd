"""One running system, on ports and in a folder of its own, for every scenario of the Central Italy hour."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.local.layout import Layout
from deploy.local.system import System
from tests.acceptance import italy
from tests.acceptance.line import Line
from tests.reference import central_italy

AREAS = ("twice", "fusion-killed", "broker-killed", "broker-away", "changes", "order", "many")


@pytest.fixture(scope="package")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """The system with the stations of Central Italy in every area, looking for what each scenario expects."""
    reason = central_italy.why_absent()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("italy")
    system = System(Layout.isolated(folder / "running", italy.write_configuration(folder, AREAS)))
    try:
        system.up()
        running = Line(system)
        for query in (italy.BELL, italy.OWN_S, italy.NEIGHBOURS):
            running.put(query)
        yield running
    finally:
        system.down()
        system.ingest.close()
        system.alerting.close()
