"""Backoff: how long to wait before something that failed is tried again."""


class Backoff:
    """Pauses between attempts: ``first_s``, then twice the one before, at most ``longest_s``."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self.first_s, self.longest_s = first_s, longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the pause after one more failure."""
        pause_s, self._next_s = self._next_s, min(2 * self._next_s, self.longest_s)
        return pause_s

    def start_over(self) -> None:
        """Begin with the first pause again: an attempt went well."""
        self._next_s = self.first_s
