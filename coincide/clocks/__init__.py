"""Clocks: what sensors share of their errors.

The sensors of one gateway are late together when its clock is. Among themselves that part cancels; against others it
moves all of them alike. `Clock.template` makes the template of a sensor on a clock. Every join takes it as any other.
"""

from __future__ import annotations

from coincide.clocks.clock import Clock, learnt_whole
from coincide.probability import ClockOffset, clock_offsets, whole_error
from coincide.templates.clocked import ClockedHistogram

__all__ = ["Clock", "ClockOffset", "ClockedHistogram", "clock_offsets", "learnt_whole", "whole_error"]
