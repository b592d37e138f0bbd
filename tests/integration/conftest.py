"""A session of Spark as jobs have it, which the tests of this folder share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job.session import create_session, end_session, is_lost


@pytest.fixture(scope="session")
def job_session() -> Iterator[SparkSession]:
    """The session of a fusion job with four shards; its Java process ends with its last user."""
    java = find_java()
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("JAVA_HOME", str(java.home))  # the set-up may have fetched it
        session = create_session(FusionSettings(jars_path=ensure_jars(java).spark, master="local[1]", shards=4))
    yield session
    end_session(session, 30)
    assert is_lost(session)
