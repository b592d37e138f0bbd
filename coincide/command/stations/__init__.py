"""``coincide stations``: places of sensors from the files that others keep of them, as YAML or over REST."""
