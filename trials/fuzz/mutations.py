"""Changes of an input: of one node of the JSON or msgpack in it, or of its bytes."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from msgspec import MsgspecError, msgpack

Change = Callable[[bytes], bytes]
Path = list[Any]

DEEP = 20_000
#: Values that are of another type than any, or at the edge of what one holds.
ODD: Sequence[Any] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64),
    *("", " ", "\0", "\n", "é", "\ud800", "0", "x" * 300, "stream/p", "[", "%", "*", "{area}", "1987-02-23T07:35:35Z"),
    *([], {}, [[]], [None], {"": None}, [0.0, 0.0], {"is": 1}, [1.0], 10**30),
)
#: Pieces of JSON that no value stands for.
RAW = (
    *(b"1e999", b"-1e999", b"NaN", b"Infinity", b"-", b"9" * 400, b"9" * 5_000, b"0." + b"0" * 400 + b"1", b"1E5"),
    *(b'{"a":1,"a":2}', b'"\\u0000"', b'"\\ud800"', b'"\xff"'),
    *(b"[" * DEEP + b"]" * DEEP, b'{"a":' * 500 + b"1" + b"}" * 500),
)
_MARK = "this piece is to be replaced"


def mutated(content: bytes, random: Random, of_bytes: Change) -> bytes:
    """Return the input with a change or a few; `of_bytes` changes bytes."""
    if random.random() < 0.3:
        return of_bytes(content)
    head, feed, tail = content.partition(b"\n")
    for before, part in ((b"", content), (head + feed, tail)):
        changed = _of_json(part, random) or _of_msgpack(part, random)
        if changed is not None:
            return before + changed
    return of_bytes(content)


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Return the bytes with some of them changed, cut out, put in or repeated."""
    start, stop = sorted(random.randrange(len(content) + 1) for _ in range(2))
    stop = min(stop, start + 64)
    piece = random.choice([b"", random.randbytes(stop - start), 2 * content[start:stop], random.choice(RAW)])
    return content[:start] + piece + content[stop:]


def _of_json(content: bytes, random: Random) -> bytes | None:
    try:
        tree = json.loads(content)
        for _ in range(random.choice([1, 1, 1, 2, 4])):
            tree = _changed(tree, random)
        text = json.dumps(tree).encode()
    except (ValueError, OverflowError, RecursionError):  # a number is too great, or it is too deep
        return None
    return text.replace(json.dumps(_MARK).encode(), random.choice(RAW))


def _of_msgpack(content: bytes, random: Random) -> bytes | None:
    try:
        tree = msgpack.decode(content)
        return msgpack.encode(_changed(tree, random)) if isinstance(tree, list | dict) else None
    except (MsgspecError, ValueError, OverflowError, TypeError, RecursionError):
        return None


def _changed(tree: Any, random: Random) -> Any:
    """Return the tree with one node changed, put in, or taken out."""
    paths = list(_paths(tree))
    *above, last = random.choice(paths)
    parent = [tree] if last is None else _at(tree, above)
    at = 0 if last is None else last
    match random.randrange(6):
        case 0 if last is not None:
            del parent[at]
        case 1 if isinstance(parent, list) and last is not None:
            parent.insert(at, deepcopy(random.choice([parent[at], *ODD])))
        case 1 if isinstance(parent, dict):
            parent[str(random.choice(ODD))] = deepcopy(parent[at])
        case 2:
            parent[at] = deepcopy(_at(tree, random.choice(paths)))  # another node of the same tree
        case 3:
            parent[at] = _nudged(parent[at], random)
        case 4:
            parent[at] = _MARK
        case _:
            parent[at] = deepcopy(random.choice(ODD))
    return parent[0] if last is None else tree


def _nudged(value: Any, random: Random) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return random.choice([value + 1, value - 1, -value, value * 2, value * 10**6, value / 3])
        case str():
            return random.choice(
                [value[:-1], value + value, value.upper(), value + "\0", value + random.choice("*?.é ")]
            )
        case list():
            many = 2 if any(isinstance(each, list | dict) for each in value[:1]) else 200  # so that no tree explodes
            return random.choice([value[::-1], value + value[:9], value[:1] * many, value[1:]])
        case bytes():
            return changed_bytes(value, random)
    return [value]


def _paths(tree: Any) -> Sequence[Path]:
    """Return how to come to each node; `[None]` is the root."""
    found: list[Path] = [[None]]
    waiting: list[tuple[Path, Any]] = [([], tree)]
    while waiting:
        path, node = waiting.pop()
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, child in children:
            found.append([*path, name])
            waiting.append((found[-1], child))
    return found


def _at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree if step is None else tree[step]
    return tree
