from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.reference.spark_session import local_session

#: Java does not compile to the utmost what runs for a minute, and Spark generates no code for tens of rows.
SHORT_LIVED = {
    "driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "sql.codegen.factoryMode": "NO_CODEGEN",
    "sql.codegen.wholeStage": "false",
}


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """One small session for this folder, whose tasks are tried three times; what other tests start is theirs."""
    with local_session("local[2,3]", **SHORT_LIVED) as session:
        yield session
