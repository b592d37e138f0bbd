"""On which lines a story is told: on the line in one process, on Kafka and Spark, or on both.

A line is a fixture of the session, which a test gets by the name of the fixture.
"""

from typing import Any

import pytest

#: As names of tests have them.
IN_ONE, ON_SPARK = "one process", "Kafka and Spark"


def on_both(parameter: str, in_one: str, on_spark: str, group: str) -> pytest.MarkDecorator:
    """Tell each story on both lines; the one on Kafka and Spark with those of its group."""
    return pytest.mark.parametrize(parameter, [alone(in_one), shared(on_spark, group)], indirect=True)


def on_one(parameter: str, in_one: str) -> pytest.MarkDecorator:
    """Tell each story on the line in one process: it is not about Kafka or Spark."""
    return pytest.mark.parametrize(parameter, [alone(in_one)], indirect=True)


def on_spark(parameter: str, fixture: str, group: str) -> pytest.MarkDecorator:
    """Tell each story on Kafka and Spark alone."""
    return pytest.mark.parametrize(parameter, [shared(fixture, group)], indirect=True)


def alone(fixture: str) -> Any:
    return pytest.param(fixture, id=IN_ONE)


def shared(fixture: str, group: str) -> Any:
    return pytest.param(fixture, id=ON_SPARK, marks=[pytest.mark.jvm, pytest.mark.shares(group)])


#: A story that the shared systems are told: see `tests.conftest.whole`.
on_both_whole = on_both("whole", "one_process", "system", "system")
on_one_whole = on_one("whole", "one_process")
