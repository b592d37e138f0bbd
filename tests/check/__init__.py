"""How the tests are run: stages of a check and what they cost, and plugins of pytest that order and judge its tests.

``python -m tests.check`` runs `make check`, ``python -m tests.check all`` runs `make check-all` and
``python -m tests.check.quick`` runs `make quick`. ``tests/conftest.py`` registers the plugins.
"""
