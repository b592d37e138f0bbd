"""The command ``coincide`` (``join``, ``coalesce``): the one part of the package that reads and writes files.

Nothing imports it but ``python -m coincide``.
"""
