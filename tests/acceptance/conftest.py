"""One running system, on ports and in a folder of its own, for every scenario of the Central Italy hour."""

from collections.abc import Iterator

import pytest

from deploy.local.layout import Layout
from deploy.local.system import System
from tests.acceptance import hour, italy
from tests.acceptance.line import Line
from tests.reference import central_italy

AREAS = ("twice", *hour.AREAS, "broker-away", "changes", "order", "flooded", "beside")


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """The system with its archive and the stations of Central Italy in every area, looking for three queries."""
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


@pytest.fixture(scope="session")
def posted(line: Line) -> hour.Hour:
    """The hour in three areas, posted while fusion, alerting and Kafka were killed, each once."""
    return hour.post_hour(line)
