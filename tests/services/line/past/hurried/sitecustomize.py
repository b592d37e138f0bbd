"""Lets a second process give way to nobody: it would stand still for as long as other tests keep the cores busy."""

import os

if hasattr(os, "SCHED_IDLE"):
    del os.SCHED_IDLE
