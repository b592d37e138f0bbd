"""The bound on the bytes of a batch is lifted while joins of ours run, and stands again as it was; without Spark."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

import pytest
from pyspark.sql import SparkSession

from coincide.spark.arrow_batches import BYTES, ROWS, batches_by_rows


class Settings(dict[str, str]):
    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


@dataclass(frozen=True, eq=False)
class Session:
    conf: Settings


def session(settings: Settings) -> SparkSession:
    return cast("SparkSession", Session(settings))


@pytest.mark.parametrize("before", [{}, {BYTES: "1000"}], ids=["by default", "as somebody set it"])
def test_the_last_of_two_joins_sets_the_bound_back(before: dict[str, str]) -> None:
    settings = Settings({ROWS: "10000", **before})
    spark = session(settings)
    first, second = ExitStack(), ExitStack()
    first.enter_context(batches_by_rows(spark))
    second.enter_context(batches_by_rows(spark))
    first.close()
    assert settings[BYTES] == str(2**31 - 1)
    second.close()
    assert settings == {ROWS: "10000", **before}


def test_without_a_bound_on_rows_the_one_on_bytes_stays() -> None:
    settings = Settings({ROWS: "0", BYTES: "1000"})
    with batches_by_rows(session(settings)):
        assert settings == {ROWS: "0", BYTES: "1000"}
