"""The README's two commands on a machine that has nothing: `python -m trials.bare_machine`."""
