"""What people change over REST, once: a declaration, what every change of it comes to, and its three routes.

`resource` has the declaration and the edits, `changes` what a change does, `routes` how it is asked for.
"""
