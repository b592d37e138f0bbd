"""Starts Coincide: container images, monitoring, and the whole system on one machine without containers."""
