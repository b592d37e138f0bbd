"""What every package stands on: kinds of arrays, exact sums, stable order, checks of numbers.

Any package may import the modules of this one; it imports nothing but numpy and `coincide.errors`.
"""
