"""The whole system on one machine, without containers: ``make up``, ``make demo``, and the tests' own copies of it.

- `machine`: the checkout, free ports, waiting, and the one kind of error; everything here stands on it
- `patience`: waiting for processes as long as they make progress
- `java`, `jars`: the Java that runs Kafka and Spark, and what they need besides; found, or fetched once
- `broker`: one Kafka; tests use it alone
- `class_archives`, `warming`: what lets Java start faster, and how it is written
- `layout`, `supervision`, `system`: where one system keeps its files and which ports it has, the runner of its
  processes, and how all of it is started, waited for and stopped
- `progress`: what a person sees while a system starts
- `backup`: all that a system remembers, into a folder and back
- `demo`: what ``make demo`` shows, of `sn1987a` (1987) and of `harbour` (now)

Only tests, benchmarks and the command (`__main__`) import from here.
"""
