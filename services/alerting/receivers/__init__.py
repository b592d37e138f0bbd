"""Receivers: who is told of alerts, and how a message gets there.

`receiver` says what a receiver is and which there are. `webhook`, `alertmanager` and `people` each send one message
one way, over connections that `connections` makes. `sending` has a worker for each receiver, which works off its part
of the outbox.
"""
