"""What `make setup` fetches before anything else is there; it needs nothing but Python itself."""
