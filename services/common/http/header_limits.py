"""What the headers of a request may be, for whoever reads them: how long they are, and what Content-Length says."""

MOST_HEADER_BYTES = 64 * 1024
_MOST_DIGITS = 18


def body_length(declared: str) -> int | None:
    """Return what Content-Length says; None where it is no whole number in ASCII digits, such as "" or ``²``."""
    is_number = declared.isascii() and declared.isdecimal() and len(declared) <= _MOST_DIGITS
    return int(declared) if is_number else None
