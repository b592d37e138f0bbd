"""The command ``coincide`` (``join``, ``coalesce``): the one part of the package that reads and writes files.

Nothing else in coincide imports it (import-linter checks that), so that the library stays pure and needs numpy alone;
what the command needs beyond is the extra ``cli``.
"""
