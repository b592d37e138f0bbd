"""What queries of every kind have: names, attributes, and a rule of whom they tell."""
