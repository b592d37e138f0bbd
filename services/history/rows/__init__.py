"""Rows of the past: of the archive and of topics, each once, in order, as the joins take them."""
