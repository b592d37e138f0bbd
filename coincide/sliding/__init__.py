"""Continuous queries over readings: coalesced runs in windows that slide, eagerly or lazily, with the same answers.

`questions` is what a window may be asked, and answers it. `value_limits` filters readings by their value. `rules` says
which readings make a run and which windows are due. `readings` are the readings in columns, and `extents` keeps them
for one area by either scheme. `counts` counts what comes and what scans meet, and `measured_costs` measures what
operations cost on this machine; from both `choice` chooses the scheme.
"""
