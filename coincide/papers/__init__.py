"""The algorithms of the four papers, as printed and as corrected: to read, to measure and to test against.

Nothing that users run imports this package; tests, docs and benchmarks do.
"""
