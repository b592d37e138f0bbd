"""Faults: what is done to a running system, and undone; a module for each kind."""
