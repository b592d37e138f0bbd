"""What every answer over HTTP has the same way: problems, pages of lists, versions; and the OpenAPI page."""
