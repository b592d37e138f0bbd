"""The demo, as a client of any line: what it posts of 1987 and of a harbour of now, and what it prints of the answers.

``make demo`` shows it on Kafka and Spark, and ``coincide serve --demo`` in one process.
"""
