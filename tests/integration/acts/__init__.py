"""The acts of one story: fusion, alerting, ingest and Kafka are killed while each kind of answer is under way.

An act is one kind of answer. It posts of its own, in areas of its own: first, while fusion is away, and when all
processes are back. Then it is judged by the definition, whatever was killed.
"""
