"""Drills: faults of the real system, and what Prometheus, Alertmanager and the dashboard's first row say of each.

A drill is for a person who wants to know whether alerts still help: `make drill`. It is no part of `make check`.
"""
