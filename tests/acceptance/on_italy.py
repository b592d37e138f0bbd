"""On which lines a story of the Central Italy hour is told, see `tests.on_lines`.

On Kafka and Spark it is told at night: a system of its own that is killed amid an hour takes the whole machine. What
kills do to Spark, `tests/integration/test_story.py` tells in every check.
"""

import pytest

from tests.on_lines import in_one, on
from tests.on_lines import on_spark as line_on_spark

IN_ONE = in_one("italy_in_one", pytest.mark.shares("italy in one"))
ON_SPARK = line_on_spark("italy_on_spark", "italy", pytest.mark.night)

on_both = on("line", IN_ONE, ON_SPARK)
on_one = on("line", IN_ONE)
on_spark = on("line", ON_SPARK)
