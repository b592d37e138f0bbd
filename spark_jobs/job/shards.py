"""Shards: the parts of the state, and grouping keys that Spark sends to partitions of their own.

Spark puts a row on the partition ``pmod(hash(key), n)``. Keys 0 and 1 of 2 shards meet on one partition, which
would leave one core idle, so each shard is given the smallest key that hashes to its own number.
"""

from itertools import count

MOST_SHARDS = 256
_SEED = 42  # Spark's `hash` expression always starts from it
_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> list[int]:
    """Return one grouping key (Spark `int`) for each shard: ``pmod(hash(keys[s]), shards) == s``."""
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(spark_hash(key) % shards, key)
        if len(keys) == shards:
            return [keys[shard] for shard in range(shards)]
    raise AssertionError("unreachable: count() never ends")


def spark_hash(value: int) -> int:
    """Return what Spark's `hash` gives for one 32-bit `int`: Murmur3 x86_32, seed 42, as a signed 32-bit integer."""
    mixed = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    state = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4  # the length in bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
