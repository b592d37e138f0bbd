"""Learning templates on Spark: rows of an archive or of the topic, the tasks, and how they are put together.

`tasks` knows no Spark: it turns tables of detections into tables of what was learnt.
"""
