"""Which accepted rows match, and what is said of each match; the core imports `Finder` and the judges."""
