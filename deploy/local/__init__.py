"""The whole system on one machine, without containers: ``make up``, ``make demo``, and the tests' own copies of it.

- `broker`: one Kafka; tests use it alone
- `warming`: how the archives are written that let Java start faster
- `layout`, `supervision`, `system`: where one system keeps its files and which ports it has, the runner of its
  processes, and how all of it is started, waited for and stopped
- `command`: what runs to its end before the next process starts
- `progress`: what a person sees while a system starts
- `backup`: all that a system remembers, into a folder and back
- `demo`: how ``make demo`` shows on it what `services.demo` has, of 1987 and of now

It stands on `deploy.host` (this machine, and waiting on it) and `deploy.jvm` (Java and its jars).
Only tests, benchmarks and the command (`__main__`) import from here.
"""
