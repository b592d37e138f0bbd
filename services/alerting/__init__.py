"""Alerting keeps the queries, stores matches, episodes and dead letters, and serves them over REST and live.

Start in `server` (wiring) or `app` (routes); other components import `settings` alone.
"""
