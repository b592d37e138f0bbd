"""What every component shares, the fusion job included: settings, declared streams, topics, clients of a log.

The services over HTTP also share who may do what (`access`) and what an answer looks like (`http`). Nothing in here
knows a service.
"""
