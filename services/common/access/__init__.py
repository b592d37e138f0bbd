"""Who may do what: Host, Origin and Content-Type of each request, keys with scopes, TLS, and the audit trail.

A server puts `Guard` before everything that it answers: `Guarded` is that for an ASGI application.
Whoever changes something finds its caller with `caller_in` and calls `AuditTrail.note`. Keys are made by
``python -m services.common.access`` and over REST.
"""
