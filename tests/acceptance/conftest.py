"""One running system, on ports and in a folder of its own, for every scenario of the Central Italy hour."""

from collections.abc import Iterator

import pytest

from deploy.local.layout import Layout
from deploy.local.system import System
from tests.acceptance import italy
from tests.acceptance.line import Line
from tests.reference import central_italy

AREAS = ("twice", "killed", "broker-away", "changes", "order", "many", "flooded", "beside")


@pytest.fixture(scope="package")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """The system with the stations of Central Italy in every area, looking for what each scenario expects."""
    if reason := central_italy.why_absent():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("italy")
    line = Line(System(Layout.isolated(folder / "running", italy.write_configuration(folder, AREAS))))
    try:
        line.system.up()
        for query in (italy.BELL, italy.OWN_S, italy.NEIGHBOURS):
            line.put(query)
        yield line
    finally:
        line.system.down()
