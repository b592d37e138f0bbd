"""Which sensors there are, with which templates: the topic, the file that seeds it, and the snapshot that stamps."""
