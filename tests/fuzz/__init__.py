"""Fuzzing: bytes that nobody would send, at each place where bytes come in, and a law that must hold for any of them.

`python -m tests.fuzz` runs it for long (docs/how-to/try-faults.md); the tests beside it try a few of each.
"""
