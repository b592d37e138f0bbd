"""The partition that a key belongs to, in every log as in Kafka: so a log keeps its places when it grows into Kafka."""

from functools import lru_cache

_SEED, _FACTOR, _ALL = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF


@lru_cache(maxsize=4_096)  # keys are areas, mostly, and few
def partition_of(key: bytes | None, partitions: int) -> int:
    """Return the number of the partition, as Kafka's clients do; the first one where there is no key.

    Examples
    --------
    >>> [partition_of(area, 8) for area in (b"harbour", b"north", None)]
    [5, 2, 0]
    """
    return 0 if key is None or partitions == 1 else (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(key: bytes) -> int:
    """Return the hash that Kafka's clients have of a key."""
    whole = len(key) & ~3
    hashed = _SEED ^ len(key)
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _FACTOR & _ALL
        hashed = hashed * _FACTOR & _ALL ^ (word ^ word >> 24) * _FACTOR & _ALL
    if rest := key[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _FACTOR & _ALL
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _ALL
    return hashed ^ hashed >> 15
