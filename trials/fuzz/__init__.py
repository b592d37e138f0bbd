"""Fuzzing: bytes that nobody would send, at each place where bytes come in, and a law that must hold for any of them.

`python -m trials.fuzz` runs it for long (docs/how-to/try-faults.md); `tests/trials/fuzz` tries a few of each.
"""
