"""The whole system on one machine, without containers: ``make up``, ``make demo``, and the tests' own copy of it."""
