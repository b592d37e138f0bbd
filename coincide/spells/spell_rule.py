"""SpellRule: which readings make a spell, how long it must last, and how sure that has to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from coincide.constraints.window import Window
from coincide.sliding.rules import RunRule

LONGEST_SPELL_S = 1e9  # the end of the longest window; no two detections are as far apart as seven of them


@dataclass(frozen=True)
class SpellRule:
    """What a spell is.

    Parameters
    ----------
    run : RunRule
        Which values interest, which goes on from which, and how long one holds at most if no other comes.
    lasting_us : int
        How long a spell lasts at least, in microseconds, above 0.
    threshold : float
        The least probability that it lasted so long, above 0 and at most 1.

    Examples
    --------
    >>> from coincide.sliding.value_limits import ValueLimits
    >>> rule = SpellRule(RunRule(60_000_000, ValueLimits(above=40)), lasting_us=60_000_000)
    >>> rule.window
    Window(lo_s=60.0, hi_s=1000000000.0)
    """

    run: RunRule
    lasting_us: int
    threshold: float = 0.5

    @cached_property
    def window(self) -> Window:
        """From when its first reading was so to when another was, in seconds; closed."""
        return Window(lo_s=self.lasting_us / 1e6, hi_s=LONGEST_SPELL_S)

    @property
    def but_for_limits(self) -> SpellRule:
        """The same rule for values within any limits."""
        return replace(self, run=replace(self.run, limits=None))
