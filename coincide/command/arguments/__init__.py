"""The command lines of ``coincide``: what each command takes, and the request that comes of it."""
