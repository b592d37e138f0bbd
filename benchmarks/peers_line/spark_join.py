"""Spark's own stream-stream interval join: `python -m benchmarks.peers_line.spark_join SETTINGS`, until it is stopped.

Spark looks at every row that has the key of a new one. So the key is the area and a tenth of a second, and a detection
of one stream is laid into each tenth that its window touches. By the area alone it would look at 1,000 rows.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers_line.load import STREAMS, WINDOW_MS
from spark_jobs.job.session import FIXED_PROPERTIES

BUCKET_MS = 100
CORES = 2
PLAIN = "from_json(CAST(value AS STRING), 'area STRING, id BIGINT, t BIGINT, sent BIGINT') AS row"
ARRAY = "from_json(CAST(value AS STRING), 'area STRING, detections ARRAY<STRUCT<id BIGINT, t BIGINT, sent BIGINT>>')"
TENTHS = {
    "seismic": f"t DIV {BUCKET_MS} AS tenth",
    "acoustic": f"""explode(array_distinct(array(
        (t - {WINDOW_MS}) DIV {BUCKET_MS}, (t + {WINDOW_MS}) DIV {BUCKET_MS}))) AS tenth""",
}
JOIN = f"""
    SELECT CAST(s.area AS BINARY) AS key,
        to_json(struct(s.id AS seismic, a.id AS acoustic, greatest(s.sent, a.sent) AS sent)) AS value
    FROM seismic s JOIN acoustic a ON s.area = a.area AND s.tenth = a.tenth
        AND s.at BETWEEN a.at - INTERVAL {WINDOW_MS / 1e3} SECOND AND a.at + INTERVAL {WINDOW_MS / 1e3} SECOND"""


def detections(spark: SparkSession, stream: str, given: dict[str, Any]) -> DataFrame:
    """Return a stream's detections, with a watermark."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given["bootstrap"])
        .option("subscribe", given["prefix"] + stream)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given["records_a_batch"])
        .option("kafka.fetch.max.wait.ms", 1)  # as our own job has it
        .load()
        .coalesce(CORES)  # and this: not a task for each partition
    )
    if given["is_batched"]:
        rows = records.selectExpr(f"{ARRAY} AS frame").selectExpr("frame.area", "inline(frame.detections)")
    else:
        rows = records.selectExpr(PLAIN).selectExpr("row.*")
    timed = rows.selectExpr("*", "timestamp_millis(t) AS at").withWatermark("at", f"{given['delay_s']} seconds")
    return timed.selectExpr("area", "id", "sent", "at", TENTHS[stream])


def main(given: dict[str, Any]) -> None:
    properties = {
        **FIXED_PROPERTIES,
        "spark.driver.memory": given["memory"],
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.jars": given["jars"],
        **given["properties"],
    }
    builder = SparkSession.Builder().appName("peer").master(f"local[{CORES}]")
    for name, value in properties.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for stream in STREAMS:
        detections(spark, stream, given).createOrReplaceTempView(stream)
    writer = spark.sql(JOIN).writeStream.format("kafka").option("kafka.bootstrap.servers", given["bootstrap"])
    writer = writer.option("topic", given["results"]).option("kafka.linger.ms", 10)
    writer.option("checkpointLocation", given["checkpoint"]).start().awaitTermination()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
