"""Alerts: what somebody is told of, from its first transition to its last.

`alert` says what an alert is, `findings` what one is made of, and `lifecycle` how it changes: these three know no
database. `raising` applies them to what is stored, in the same transaction. `controls` are what people say of alerts
(silences, acknowledgements), `system_conditions` what alerting itself finds to be wrong.
"""
