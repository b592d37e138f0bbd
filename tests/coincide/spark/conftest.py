from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.reference.spark_session import local_session


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One small session for a module: what other tests start is theirs."""
    with local_session() as session:
        yield session
