"""CSV: blocks of plain lines read at once are what the same lines are one by one, whatever is in them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coincide.command.faults import BadRows, CommandError
from coincide.command.input import csv_rows
from coincide.command.input.csv_opening import CsvHeader
from coincide.command.input.csv_rows import csv_chunks, plain_columns
from tests.examples import examples

Rows = tuple[list[tuple[int, int, Any, Any]], list[str], str]

PIECES = st.sampled_from(['"', '""', ",", ";", " ", "\t", "\n", "\r\n", "\r", "a", "7.5", "ü", "\u00a0", "\udcff", "#"])
CELLS = st.sampled_from(["", "a", "7.5", ' "b"', '"c"', '"d,e"', '"f""g"', '"h\ni"', " j ", '" k"', "ü", '"', '"",'])
LINES = st.lists(CELLS, min_size=1, max_size=3).map(",".join)
FILES = st.one_of(
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\n\n"])).map("".join), max_size=8).map("".join),
    st.lists(st.tuples(CELLS, CELLS).map(",".join), max_size=8).map("\n".join),
)


def read(path: Path, characters: int = 1 << 23) -> Rows:
    """Rows as (row, line, x, y), what is bad, and what ended the reading."""
    bad, rows, ended = BadRows(path, "line"), [], ""
    try:
        for chunk in csv_chunks(path, ("x", "y"), bad, lambda _share: None, characters):
            columns = [[str(cell) for cell in chunk.columns[name]] for name in ("x", "y")]
            rows += list(zip(chunk.row.tolist(), chunk.place.tolist(), *columns, strict=True))
    except CommandError as error:
        ended = str(error)
    return rows, bad.messages(), ended


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, st.sampled_from([1, 7, 1000]))
@example('a,b\n"c","d, e"\nf,g\n', 1000)
@example('a,"b\n"\nc,d\n', 7)
@example('a,"b","c\n",d', 1)
def test_blocks_are_read_as_single_rows_are(tmp_path: Path, content: str, characters: int) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(("x,y\n" + content).encode("utf-8", "surrogateescape"))
    at_once = read(path, characters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "plain_columns", lambda *_: None)
        one_by_one = read(path)
    if one_by_one[2]:  # rows before what cannot be read do not matter: nothing is made of them
        assert at_once[2] == one_by_one[2]
    else:
        assert at_once == one_by_one


@pytest.mark.parametrize("content", ["a,1\nb,2\n", 'a,"1"\n"b",2', "a,1\r\nb, 2 \r\n"])
def test_plain_lines_are_read_at_once(content: str) -> None:
    columns = plain_columns(content, CsvHeader(["x", "y"], ",", {"y": 1}))
    assert columns is not None
    assert columns["y"].to_pylist() == ["1", "2"]
