"""Spells: the times for which readings stayed within limits, each told once, however late or out of order they come.

`spell_rule` says how long a spell must last, and how sure that has to be. `stretches` are readings in columns, and
whatever neighbouring readings have become: putting readings together in parts gives the same as all at once. So a
spell of a year is one row.
"""

from coincide.spells.spell_rule import SpellRule
from coincide.spells.stretches import SpellReadings, Spells, Stretches

__all__ = ["SpellReadings", "SpellRule", "Spells", "Stretches"]
