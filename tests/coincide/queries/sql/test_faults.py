"""What is wrong with a text, by its line and its column, in one sentence that says what is allowed."""

import pytest

from coincide.errors import QueryTextError
from coincide.queries.sql import query_from_sql

PAIR = "SELECT * FROM seismic s, acoustic a WHERE WINDOW(s, a) = 2 s WITH THRESHOLD 0.6"
HOT = "SELECT s.SENSOR, MAX(CAST(VALID(s.c) AS INTERVAL HOUR)) FROM t AS s RANGE 24 HOUR SLIDES 1 HOUR"
LONG = "SELECT s.SENSOR, VALID(s.c) FROM t(SENSOR, c) AS s WHERE CAST(VALID(s.c) AS INTERVAL HOUR) >= 2"
COUPLE = (
    "SELECT x.r, y.r, VALID INTERSECT(VALID(x), VALID(y)) "
    "FROM t AS x RANGE 1 h SLIDES 1 min, t AS y RANGE 1 h SLIDES 1 min "
    "WHERE x.r != y.r AND x.c ~= y.c AND CAST(VALID INTERSECT(VALID(x), VALID(y)) AS INTERVAL MINUTE) >= 4"
)
OF_WORDS = [
    (PAIR.replace("seismic s", "seismic interval"), "interval", "'interval': expected"),
    (PAIR.replace("seismic s", "seismic interval"), "interval", '"interval" in double quotes as a name'),
    (PAIR.replace("2 s", "2 parsec"), "2 parsec", "has the unit 'parsec': us, ms, s, min, h or d"),
    (PAIR.replace("2 s", "1e999 s"), "1e999", "is '1e999': a number below"),
    (PAIR + " AND s.x = 'it", "'it", "begins a text that does not end"),
    (PAIR + " AND s.x ? 3", "? 3", "is '?': nothing begins with it"),
    (PAIR + " AND (s.x > 3)", "> 3", "is '>': expected"),
    (PAIR + " ALERT {}}", "}", "is '}': expected"),
    (PAIR + r' ALERT {"title": "a \N b"}', r'"a \N b"', "begins a text that does not end"),
]
OF_JOINS = [
    (PAIR.replace("acoustic a", "acoustic s"), "acoustic s", "names the role s a second time"),
    (PAIR.partition(" WHERE")[0], "acoustic a", "is joined without a window: write WHERE WINDOW(s, a)"),
    (PAIR.replace("acoustic a", "acoustic(db) a"), "acoustic(db)", "lists attributes of acoustic"),
    (PAIR + " AND z.db > 3", "z.db", "names z, which is no role of FROM: s, a"),
    (PAIR + " AND s.db > 3 AND s.db > 4", "s.db > 4", "sets from.s.where.attributes.db.above a second time"),
    (PAIR + " AND s.SENSOR = 'x'", "s.SENSOR", "compares s.SENSOR: write GLOB"),
    (PAIR + " AND s.db GLOB 'x'", "s.db", "has GLOB after an attribute"),
    (PAIR + " AND s.SENSOR GLOB 'x' AND s.SENSOR GLOB 'y'", "s.SENSOR GLOB 'y'", "sets from.s.sensors a second time"),
    (PAIR + " AND s.SENSOR = a.SENSOR", "s.SENSOR", "for sensors, write SENSORS SAME"),
    (PAIR + " AND s.x = a.y", "a.y", "compares another attribute than x"),
    (PAIR + " AND s.x = z.x", "z.x", "names z, which is no role of FROM"),
    (PAIR.replace("FROM", "FROM gas g,") + " AND s.x = a.x", "s.x", "leaves g out"),
    (PAIR + " AND s.x ~= a.x", "s.x", "~= belongs to a query over readings, not to a join"),
    (PAIR + " AND VALID(s) OVERLAPS VALID(a)", "VALID(s)", "OVERLAPS belongs to a query over readings"),
    (PAIR + " FORM PATH FORM GRAPH", "FORM GRAPH", "sets form a second time"),
    (PAIR + " SENSORS ANY SENSORS SAME", "SENSORS SAME", "sets sensors a second time"),
    (PAIR + " COALESCE GAP 1 s GAP 2 s", "GAP 2 s", "sets gap_s a second time"),
    (PAIR + ' ALERT {"title": "a", "title": "b"}', '"title": "b"', "sets title a second time"),
    (PAIR.replace(" WITH THRESHOLD 0.6", ""), "WINDOW", "has no threshold: write WITH THRESHOLD and a probability"),
    (PAIR.replace("*", "s.db, a.db"), "s.db", "is selected, but a join tells whole matches: write SELECT *"),
    (PAIR.replace("*", "s.db, VALID(s.db)"), "s.db", "is selected, but a join tells whole matches: write SELECT *"),
    (PAIR.replace("seismic s", "seismic s RANGE 1 h SLIDES 1 h"), "seismic s", "has a RANGE: a query over readings"),
    (PAIR + " AND ALIKE(s.x, a.x)", "(s.x", "calls ALIKE, which is no function: attributes are compared with ="),
]
OF_FIELDS = [
    (PAIR.replace(", a)", ", z)"), "WINDOW", "names 'z', which is no role of from"),
    (PAIR + " COALESCE HOLD 1 s", "COALESCE", "is unknown: one of gap_s, by, interval"),
    (PAIR + " AT LEAST 2", "AT LEAST", "at_least"),
    (PAIR + " LIMITS max_colours = 3", "LIMITS", "max_colours"),
    (PAIR + " AND s.db IN ('x') AND s.db < 3", "s.db IN", "limits (above, at_least"),
    (HOT + " FORM PATH", "FORM PATH", "form is unknown"),
    (HOT.replace("SLIDES 1 HOUR", "SLIDES 1 ms"), "t AS s", "slide_s"),
    (HOT + " WHERE s.c = 3", "s.c = 3", "is is unknown: one of above"),
    (LONG + " WITH THRESHOLD 7", "CAST", "threshold is 7.0: above 0"),
]
OF_READINGS = [
    ("SELECT * FROM t AS s RANGE 1 h SLIDES 1 h", "t AS s", "has a RANGE, so the query is over readings"),
    (HOT.replace("s.c)", "z.c)"), "VALID(z.c)", "needs one period of s: write VALID(s.value)"),
    (HOT.replace("s.c)", "s)"), "VALID(s)", "names no value: write VALID(s.value)"),
    (HOT.replace("MAX", "VALID(s.d), MAX"), "MAX", "is a second period"),
    (HOT + " WHERE s.d > 3", "s.d", "limits s.d: only c may have limits"),
    (HOT + " WHERE s.c > 3 AND s.c > 4", "s.c > 4", "sets above a second time"),
    (HOT + " WHERE s.c = z.c", "z.c", "names z, which is no role of FROM: s"),
    (HOT + " WHERE s.SENSOR GLOB 'x'", "s.SENSOR GLOB", "is no condition of one group"),
    (HOT + " COALESCE BY c", "COALESCE", "sets by, which is set already"),
    (LONG.partition(" WHERE")[0], "VALID(s.c)", "asks nothing: SELECT MAX("),
    (LONG.replace("VALID(s.c) AS", "VALID(s.d) AS"), "VALID(s.d) AS", "is of another value than c"),
    (LONG + " AND CAST(VALID(s.c) AS INTERVAL HOUR) >= 3", "CAST(VALID(s.c) AS INTERVAL HOUR) >= 3", "sets lasting_s"),
    (LONG.replace("SELECT s.SENSOR", "SELECT s.r"), "s.r", "is not among the attributes that FROM lists of t"),
]
OF_COUPLES = [
    (COUPLE.replace("t AS y", "u AS y"), "u AS y", "has another stream, RANGE or SLIDES than the role before it"),
    (COUPLE.replace("t AS y", "t AS x"), "t AS x RANGE 1 h SLIDES 1 min WHERE", "names a role a second time"),
    (COUPLE.replace("t AS x", "t AS z RANGE 1 h SLIDES 1 min, t AS x"), "t AS y", "is one of 3 roles"),
    (COUPLE.replace("x.r != y.r AND ", ""), "t AS x", "does not tell once that the groups differ: write x.r != y.r"),
    (COUPLE.replace("x.r != y.r", "x.r != y.d"), "x.r != y.d", "does not tell once that the groups differ"),
    (COUPLE.replace("x.r, y.r,", ""), "x.r != y.r", "SELECT what tells them apart"),
    (COUPLE.replace("x.r, y.r,", "x.r, y.d,"), "x.r", "is not selected of both: SELECT the same of x and y"),
    (COUPLE.replace("x.c ~= y.c", "x.c ~= y.d"), "x.c ~= y.d", "compares two attributes"),
    (COUPLE.replace("x.c ~= y.c", "x.c ~= x.c"), "x.c ~= x.c", "is of x and x: it must be of x and y"),
    (COUPLE.replace("x.c ~= y.c AND ", ""), "t AS x", "are joined by one value: write x.value ~= y.value"),
    (COUPLE + " AND x.c > 3", "t AS x", "have different limits: give both the same"),
    (
        COUPLE.replace("(VALID(x), VALID(y)) AS", "(VALID(x), VALID(x)) AS"),
        "VALID(x), VALID(x)",
        "is not what both share",
    ),
    (COUPLE + " AND x.SENSOR GLOB 'x'", "x.SENSOR", "is no condition for two groups of readings"),
    (COUPLE.rpartition(" AND ")[0], "t AS x", "share some time: write for how long"),
]


@pytest.mark.parametrize("broken", ["\n", " -- a remark\n  "])
@pytest.mark.parametrize(("text", "place", "said"), [*OF_WORDS, *OF_JOINS, *OF_FIELDS, *OF_READINGS, *OF_COUPLES])
def test_a_fault_is_named_with_its_place(text: str, place: str, said: str, broken: str) -> None:
    for text_, lines in ((text, 1), (text.replace("SELECT", f"SELECT{broken}", 1), 2)):
        with pytest.raises(QueryTextError) as told:
            query_from_sql(text_, "q")
        fault = told.value
        assert said in str(fault), str(fault)
        assert fault.line == lines
        assert text_.splitlines()[fault.line - 1][fault.column - 1 :].startswith(place), str(fault)
        assert f"line {fault.line}, column {fault.column}" in str(fault)


@pytest.mark.parametrize("text", [PAIR, HOT, LONG, COUPLE])
def test_the_texts_without_faults_are_queries(text: str) -> None:
    assert query_from_sql(text, "q").id == "q"
