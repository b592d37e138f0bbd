"""Records of what people declare: sensors and templates, streams and queries, and templates that were learnt."""
