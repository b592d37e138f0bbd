"""On which lines a story is told: on the line in one process, on Kafka and Spark, or on both.

A line is a fixture of the session, which a test gets by the name of the fixture.
"""

from typing import Any

import pytest

#: As names of tests have them.
IN_ONE, ON_SPARK = "one process", "Kafka and Spark"


def on(parameter: str, *lines: Any) -> pytest.MarkDecorator:
    """Tell each story on these lines, as `in_one` and `on_spark` have them."""
    return pytest.mark.parametrize(parameter, lines, indirect=True)


def in_one(fixture: str, *marks: pytest.MarkDecorator) -> Any:
    """Return the line in one process; a story that is not about Kafka or Spark needs no other."""
    return pytest.param(fixture, id=IN_ONE, marks=marks)


def on_spark(fixture: str, group: str, *marks: pytest.MarkDecorator) -> Any:
    """Return the line on Kafka and Spark, whose stories are told with those of its group."""
    return pytest.param(fixture, id=ON_SPARK, marks=[pytest.mark.jvm, pytest.mark.shares(group), *marks])


#: A story that the shared systems are told: see `tests.conftest.whole`.
on_both_whole = on("whole", in_one("one_process"), on_spark("system", "system"))
on_one_whole = on("whole", in_one("one_process"))
