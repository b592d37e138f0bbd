"""On which lines a story of the Central Italy hour is told, see `tests.on_lines`."""

from tests import on_lines

IN_ONE, ON_SPARK, GROUP = "italy_in_one", "italy_on_spark", "italy"

on_both = on_lines.on_both("line", IN_ONE, ON_SPARK, GROUP)
on_one = on_lines.on_one("line", IN_ONE)
on_spark = on_lines.on_spark("line", ON_SPARK, GROUP)
