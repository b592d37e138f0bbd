"""The pictures of the pages: one style, and a module for each page that draws its pictures from the library.

`python -m docs.pictures` draws all of them. A benchmark draws the pictures of recorded data and of measured times
(`--picture FILE.svg`). Import the style from this package; only tests import the modules of pages.
"""

from docs.pictures.style import Numbers, Pictures, figure, numbers_in, rounded, save

__all__ = ["Numbers", "Pictures", "figure", "numbers_in", "rounded", "save"]
