"""A small Spark session in this process, for tests and benchmarks."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from deploy.jvm.java import find_java

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def local_session(master: str = "local[2]", memory: str = "1g", **conf: str) -> Iterator[SparkSession]:
    """Start Spark and its Java process; they end with the block."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ.setdefault("JAVA_HOME", str(find_java().home))
    builder = SparkSession.Builder().appName("coincide-test").master(master)
    properties = {
        "driver.memory": memory,
        "driver.host": "127.0.0.1",
        "driver.bindAddress": "127.0.0.1",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "log.level": "ERROR",
        "sql.shuffle.partitions": "4",
        "sql.session.timeZone": "UTC",
        **conf,
    }
    for name, value in properties.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    gateway = session.sparkContext._gateway
    try:
        yield session
    finally:
        session.stop()
        if gateway is not None and (java := getattr(gateway, "proc", None)) is not None:
            java.stdin.close()
            java.wait()
            gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
