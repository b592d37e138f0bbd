"""What every component shares, the fusion job included: settings, declared streams and topics, Kafka clients.

The HTTP services also share problem documents, operational routes and logs. Nothing in here knows a service.
"""
