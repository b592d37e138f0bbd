"""The console shows people what the system sees: pages over the REST API of ingest and alerting and the live stream.

Start in `server` (wiring) or `app` (pages and routes). `access` lets people in, `rest` asks the services, `pages` are
what people see, and `drawing` has the pictures of time.
"""
