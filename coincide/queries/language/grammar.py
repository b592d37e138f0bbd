"""The grammar of queries as SQL: text to a tree, and what is wrong with a text that is none.

No rule contains itself, so nothing nests without end, and a parse takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from coincide.errors import QueryTextError

LONGEST_TEXT = 20_000  # characters, of which the parser takes about a quarter of a million a second
MOST_EXPECTED = 8

GRAMMAR = r"""
statement: "SELECT"i selected "FROM"i source ("," source)* ","? where? clause* ";"?

?selected: "*" -> everything
         | item ("," item)* -> items
?item: column
     | valid
     | intersection
     | "MAX"i "(" length ")" -> longest

column: name "." (name | SENSOR | AREA)
valid: "VALID"i "(" name ["." name] ")"
intersection: "VALID"i "INTERSECT"i "(" valid "," valid ")"
length: "CAST"i "(" (valid | intersection) "AS"i "INTERVAL"i NAME ")" ("(" "PERIOD"i ")")?

source: name [schema] [_alias] [extent]
schema: "(" (name | SENSOR) ("," (name | SENSOR))* ")"
_alias: "AS"i? name
extent: "RANGE"i duration ("SLIDES"i | "SLIDE"i) duration
duration: NUMBER [NAME]

where: "WHERE"i condition ("AND"i condition)*
?condition: "WINDOW"i [ends] "=" duration [threshold] -> around
          | "WINDOW"i [ends] "=" "DISTANCE"i "/" NUMBER [slack] [up_to] [threshold] -> at_speed
          | "WINDOW"i [ends] "=" "TRAVEL"i "(" row ("," row)+ ")" [slack] [up_to] [threshold] -> travelling
          | "WINDOW"i [ends] "BETWEEN"i duration "AND"i duration [threshold] -> between
          | column (COMPARED | REACHES) NUMBER ["UNTIL"i COMPARED NUMBER] -> limited
          | column "BETWEEN"i NUMBER "AND"i NUMBER -> ranged
          | column "=" scalar -> being
          | column "IN"i "(" scalar ("," scalar)* ")" -> among
          | column "GLOB"i _texts -> named
          | AREA "GLOB"i _texts -> placed
          | column "=" column -> equal
          | column "~=" column ["WITHIN"i NUMBER] -> similar
          | columns UNEQUAL columns -> different
          | valid "OVERLAPS"i valid -> overlapping
          | length REACHES NUMBER [threshold] -> lasting
ends: "(" name "," name ")"
row: NUMBER NUMBER
slack: "+" duration
up_to: "UP"i "TO"i NUMBER
threshold: "WITH"i "THRESHOLD"i NUMBER
columns: column | "(" column ("," column)* ")"
_texts: TEXT | "(" TEXT ("," TEXT)* ")"

?clause: "FORM"i (PATH | CLIQUE | GRAPH) -> form
       | "JOINT"i "THRESHOLD"i NUMBER -> joint
       | "AT"i "LEAST"i NUMBER ["OF"i names] -> at_least
       | "SENSORS"i (DIFFERENT | SAME | ANY) -> sensors
       | "LIMITS"i limit ("," limit)* -> limits
       | "ALLOW"i "UNREACHABLE"i -> unreachable
       | "COALESCE"i option+ -> coalesce
       | "ALERT"i object -> alert
       | "EVENT"i object -> event
       | "SOURCE"i object -> one_source
names: "(" name ("," name)* ")"
limit: NAME "=" NUMBER
?option: "GAP"i duration -> gap
       | "BY"i label ("," label)* -> by
       | "INTERVAL"i (OCCURRED | HULL) -> interval
       | (EQUAL | ANY | INCREASING | DECREASING) -> plain
       | (BOUNDED | RELATIVE | QUANTISED) NUMBER -> numbered
       | "HOLD"i duration -> hold
label: column | name

object: "{" [member ("," member)*] "}"
member: QUOTED ":" (scalar_of_json | list | flat)
list: "[" [_inner ("," _inner)*] "]"
_inner: scalar_of_json | flat_list
flat_list: "[" [scalar_of_json ("," scalar_of_json)*] "]"
flat: "{" [flat_member ("," flat_member)*] "}"
flat_member: QUOTED ":" scalar_of_json
scalar_of_json: QUOTED | NUMBER | TRUE | FALSE
scalar: TEXT | NUMBER | TRUE | FALSE
name: NAME | QUOTED

REACHES: ">="
COMPARED: /<=|<(?!>)|>(?!=)/
UNEQUAL: /!=|<>/
SENSOR: "SENSOR"i
AREA: "AREA"i
PATH: "PATH"i
CLIQUE: "CLIQUE"i
GRAPH: "GRAPH"i
DIFFERENT: "DIFFERENT"i
SAME: "SAME"i
ANY: "ANY"i
OCCURRED: "OCCURRED"i
HULL: "HULL"i
EQUAL: "EQUAL"i
INCREASING: "INCREASING"i
DECREASING: "DECREASING"i
BOUNDED: "BOUNDED"i
RELATIVE: "RELATIVE"i
QUANTISED: "QUANTISED"i
TRUE: "TRUE"i
FALSE: "FALSE"i
NAME: /[a-z_][a-z0-9_]*/i
QUOTED: /"(?:[^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/
TEXT: /'(?:[^']|'')*'/
NUMBER: /[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?/i
COMMENT: /(?:--|\/\/)[^\n]*/
SPACE: /[ \t\r\n\f]+/
%ignore COMMENT
%ignore SPACE
"""

KEYWORDS = frozenset(re.findall(r'"([A-Z]+)"i', GRAMMAR))
_CALLED = {
    "NAME": "a name",
    "QUOTED": "a name in double quotes",
    "TEXT": "a text in single quotes",
    "NUMBER": "a number",
    "COMPARED": "<, <=, >",
    "UNEQUAL": "!=",
    "$END": "the end",
}


def tree_of(text: str) -> Any:
    """Return the tree of a query's text; a QueryTextError says where it is none, what is there and what may be."""
    if len(text) > LONGEST_TEXT:
        raise QueryTextError((1, 1), "text", f"has {len(text)} characters: at most {LONGEST_TEXT}")
    parser, faults = _parser()
    try:
        return parser.parse(text)
    except faults.UnexpectedCharacters as fault:
        why = "begins a text that does not end" if fault.char in "'\"" else f"is {fault.char!r}: nothing begins with it"
        raise _fault((fault.line, fault.column), why) from None
    except faults.UnexpectedToken as fault:
        word = str(fault.token)[:60]
        if fault.token.type == "$END":
            raise _fault(_end_of(text), f"is the end: expected {_listed(fault.accepts)}") from None
        if word == "(" and (name := _name_before(text, fault.pos_in_stream)):
            why = f"calls {name}, which is no function: attributes are compared with = or ~=, <, <=, > and >="
            raise _fault((fault.line, fault.column), why) from None
        quoted = f', or "{word}" in double quotes as a name' if _is_reserved(word) and "NAME" in fault.accepts else ""
        raise _fault((fault.line, fault.column), f"is {word!r}: expected {_listed(fault.accepts)}{quoted}") from None


def _fault(at: tuple[int, int], message: str) -> QueryTextError:
    return QueryTextError(at, f"line {at[0]}, column {at[1]}", message)


_name_at_end = re.compile(r"([a-z_][a-z0-9_]*)\s*$", re.IGNORECASE).search


def _name_before(text: str, position: int) -> str:
    """Return the name that ends there, empty if none does, or a keyword."""
    found = _name_at_end(text[max(position - 200, 0) : position])
    return "" if found is None or _is_reserved(found[1]) else found[1]


def _is_reserved(word: str) -> bool:
    return word.upper() in KEYWORDS


def _listed(terminals: Iterable[str]) -> str:
    expected = sorted({_called(name) for name in terminals})
    more = [] if len(expected) <= MOST_EXPECTED else ["something else"]
    *others, last = [*expected[:MOST_EXPECTED], *more]
    return f"{', '.join(others)} or {last}" if others else last


def _called(terminal: str) -> str:
    """Return a terminal as a reader calls it."""
    if terminal in _CALLED or terminal in KEYWORDS:
        return _CALLED.get(terminal, terminal)
    parser, _ = _parser()
    return str(parser.get_terminal(terminal).pattern.value)


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1


@cache
def _parser() -> tuple[Any, Any]:
    """Return the parser and the module of its faults, both of lark, which only those need who read SQL."""
    try:
        from lark import Lark, exceptions  # noqa: PLC0415
    except ImportError:
        raise ImportError("to read queries as SQL, install lark: pip install 'coincide[cli]'") from None
    return Lark(GRAMMAR, parser="lalr", lexer="basic", start="statement", propagate_positions=True), exceptions
