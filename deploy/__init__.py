"""Starts Coincide: images, units of systemd, monitoring, and the whole system on one machine without either."""
