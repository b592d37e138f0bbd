from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.reference.spark_session import local_session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """One small session for this folder, whose tasks are tried three times; what other tests start is theirs."""
    with local_session("local[2,3]") as session:
        yield session
