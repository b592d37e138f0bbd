"""Files of loggers and spreadsheets: what they write around the rows is read, or its cause is named."""

from pathlib import Path

import pytest

from coincide.command.main import main
from tests.coincide.command.files import coalesce, text

HEADER = "detected_at,pump,bar\n"
ROWS = "2026-03-01T06:00:00Z,p1,1.5\n2026-03-01T06:01:00Z,p1,2.5\n"
WORDS = ["--by", "pump", "--value", "bar"]
SEMICOLONS = (HEADER + ROWS).replace(",", ";").replace(".", ",")


def values(path: Path, *words: str) -> list[object]:
    return [each["value"] for each in coalesce(path, *words, out=path.parent / "out.ndjson")]


@pytest.mark.parametrize(
    "content",
    [
        "# pump house, firmware 7\n#second\n" + HEADER + ROWS,
        "#" + HEADER + ROWS,
        "sep=;\n" + SEMICOLONS,
        '"sep=;"\r\n' + SEMICOLONS.replace("\n", "\r\n"),
        HEADER + ROWS.replace("\n", ",\n"),
        HEADER + "".join(f'"{n}",{row}\n' for n, row in enumerate(ROWS.splitlines(), 1)),
        "sep=,\n" + HEADER + ROWS,
    ],
    ids=["comments", "#header", "sep", "quoted sep", "trailing", "row numbers", "sep of commas"],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_what_stands_around_the_rows_is_read(tmp_path: Path, content: str, quoted: bool) -> None:
    more = '2026-03-01T06:02:00Z,"p1",3.5\n' if quoted else ""  # the block is then read line by line, or not
    assert values(text(tmp_path / "a.csv", content), *WORDS) == [1.5, 2.5]
    if quoted and "sep=;" not in content and not content.startswith("detected_at"):
        assert values(text(tmp_path / "b.csv", content + more), *WORDS) == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("form", ["utf-16", "utf-16-be"])
def test_utf_16_is_read_by_its_mark(tmp_path: Path, form: str) -> None:
    mark = "\ufeff" if form == "utf-16-be" else ""
    path = tmp_path / "a.csv"
    path.write_bytes((mark + SEMICOLONS).encode(form))
    assert values(path, *WORDS) == [1.5, 2.5]


def test_lines_are_counted_from_the_start_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = text(tmp_path / "a.csv", "# one\n# two\n" + HEADER + ROWS + "now,p1,3\n")
    assert main(["coalesce", str(file), *WORDS]) == 1
    assert "a.csv line 6: detected_at: 'now'" in capsys.readouterr().err


TABLE = (
    '"TOA5","hut","CR6","77","OS","prog","1","Fast"\n'
    '"TIMESTAMP","RECORD","Flow_Max"\n"TS","RN","l/s"\n"","","Max"\n'
    '"2026-03-01 06:00:00",0,7.5\n"2026-03-01 06:01:00",1,"NAN"\n"2026-03-01 06:02:00",2,8.5\n'
)


def test_a_table_of_a_campbell_logger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--value", "Flow_Max", "--time", "TIMESTAMP", "--assume-utc"]
    file = text(tmp_path / "a.dat.csv", TABLE)
    assert values(file, *words, "--skip-bad") == [7.5, 8.5]
    assert main(["coalesce", str(file), *words]) == 1
    assert "line 6: Flow_Max: 'NAN': a number" in capsys.readouterr().err


def test_a_decimal_comma_is_told_once_and_read_in_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--above", "2", "--equivalence", "any"]
    assert values(text(tmp_path / "a.csv", SEMICOLONS), *words) == [2.5]
    said = capsys.readouterr().err
    assert said.count("semicolons separate its cells, so that 21,5 is read as 21.5") == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            HEADER + "2026-03-01T06:00:00Z,p1,much, too much\n",
            "4 cells; the header has 3: does a cell with ','",
        ),
        ("a.csv", HEADER + '2026-03-01T06:00:00Z,p1,"1,5"\n', "'1,5': a number; a decimal comma is read in CSV whose"),
        ("a.ndjson", '[\n{"pump": 1},\n]\n', "line 1: no JSON: Expecting value at character 2: jq -c '.[]' writes"),
        ("a.ndjson", '[{"pump": 1}]\n', "line 1: JSON, but no object: jq -c '.[]' writes"),
        ("a.json", "[]", "JSON is read one object a line, in .ndjson: jq -c '.[]' writes an array so"),
        ("a.csv", "\0d\0e\0t,\0", "no UTF-8: iconv -t UTF-8 writes it so"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["coalesce", str(text(tmp_path / name, content)), *WORDS, "--above", "1", "--equivalence", "any"]) == 1
    assert said in capsys.readouterr().err


def test_a_header_in_another_code_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(("detected_at,pump,b\u00e4r\n" + ROWS).encode("latin-1"))
    assert main(["coalesce", str(path), "--by", "pump", "--value", "b\u00e4r"]) == 1
    assert ", which is no UTF-8: iconv -t UTF-8 writes it so" in capsys.readouterr().err
