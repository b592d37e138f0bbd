"""The form of a query, part by part: roles and their filters, windows, readings, and whom it tells."""
