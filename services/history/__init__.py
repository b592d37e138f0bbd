"""Runs over history: the archive's files, what is asked of it, the answers, and how they are asked for over HTTP.

It belongs to no line: Spark's jobs and the line in one process bring the log, the archive's place and who works.
"""
