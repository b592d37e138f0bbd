"""The page Sensors: where they stand, what is heard of each, its templates, and changes of them."""
