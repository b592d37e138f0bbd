"""Mutations: slips that somebody might make, one patch each, and the tests that must notice them.

`python -m trials.mutations` plants one after the other in a copy of the checkout; `tests/trials/mutations` tests it.
"""
