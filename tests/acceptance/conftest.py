"""A running system of each line, in a folder of its own, for every scenario of the Central Italy hour."""

from collections.abc import Iterator

import pytest

from deploy.local.layout import Layout
from deploy.local.system import System
from tests.acceptance import hour, italy
from tests.acceptance.line import Line
from tests.one_process import OneProcess
from tests.reference import central_italy
from tests.services.line.past.test_past import HURRIED

AREAS = ("twice", *hour.AREAS, "broker-away", "changes", "flooded", "beside")


def looking(system: System) -> Iterator[Line]:
    """Run a system with the stations of Central Italy in every area, looking for three queries."""
    line = Line(system)
    try:
        system.up()
        for query in (italy.BELL, italy.OWN_S, italy.NEIGHBOURS):
            line.put(query)
        yield line
    finally:
        system.down()


@pytest.fixture(scope="session")
def italy_on_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """It on Kafka and Spark, with its archive."""
    if reason := central_italy.why_absent():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("italy")
    own = italy.write_configuration(folder, AREAS) | italy.archived(folder)
    yield from looking(System(Layout.isolated(folder / "running", own)))


@pytest.fixture(scope="session")
def italy_in_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """It in one process, whose runs over history give way to nobody."""
    if reason := central_italy.why_absent():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("italy")
    own = italy.write_configuration(folder, AREAS) | {"PYTHONPATH": HURRIED, "COINCIDE_HISTORY_PROCESSES": "1"}
    yield from looking(OneProcess(folder / "running", **own))


@pytest.fixture(scope="session")
def posted_on_spark(italy_on_spark: Line) -> hour.Hour:
    """The hour in three areas, posted while fusion, alerting and Kafka were killed, each once."""
    return hour.post_hour(italy_on_spark)


@pytest.fixture(scope="session")
def posted_in_one(italy_in_one: Line) -> hour.Hour:
    """The same, while the process was killed three times."""
    return hour.post_hour(italy_in_one)


@pytest.fixture
def line(request: pytest.FixtureRequest) -> Line:
    """The line that a test is told on, by the name of its fixture: see `tests.on_lines`."""
    found: Line = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def posted(request: pytest.FixtureRequest, line: Line) -> hour.Hour:
    """The hour, posted to that line."""
    fixture = request.node.callspec.params["line"].replace("italy", "posted")
    found: hour.Hour = request.getfixturevalue(fixture)
    return found
