"""Files whose times can never belong together, and leap seconds: it is said, and the answer is not just empty."""

from pathlib import Path

import pytest

from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, FORMATS, join, text, write
from tests.coincide.command.playback.test_replay import pair, saved

ALONE = ["--window", "2", "--threshold", "0.5", "--uncertainty", "uniform:-0.5,0.5"]


def files(folder: Path, form: str, apart_s: float) -> list[Path]:
    begins_us = {"p": EPOCH_US, "s": EPOCH_US + 10 * 10**6 + round(apart_s * 1e6)}
    return [
        write(
            folder / f"{name}.{form}",
            [{"sensor": name, "detected_at_us": at_us + n * 10**6} for n in range(11)],
        )
        for name, at_us in begins_us.items()
    ]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("apart_s", "said"),
    [
        (18, "{a} and {b} do not overlap: {b} begins 18 s after {a} ends"),
        (315_964_764.33, "{a} and {b} do not overlap: {b} begins 315,964,764.33 s after {a} ends"),
        (2.1, ""),  # below any threshold, and yet not beyond all reach
        (-5, ""),
    ],
)
def test_files_that_do_not_overlap(
    tmp_path: Path, form: str, apart_s: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    p, s = files(tmp_path, form, apart_s)
    join(p, s, *ALONE, out=tmp_path / "out.csv")
    told = capsys.readouterr().err
    expected = said.format(a=p.name, b=s.name)
    assert (expected in told) if said else ("overlap" not in told)
    assert "chance" not in told or not said
    query = saved(tmp_path, {"id": "q", **pair(("s", "p"), 0.5)})
    join(s, p, "--query", *query, "--uncertainty", "uniform:-0.5,0.5", out=tmp_path / "out.csv")
    told = capsys.readouterr().err
    assert (said.format(a="b", b="a") in told) if said else ("overlap" not in told)


def test_a_leap_second_is_refused_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = text(tmp_path / "a.csv", "detected_at\n2016-12-31T23:59:60Z\n")
    assert main(["join", str(file), *ALONE]) == 1
    assert "line 2: detected_at: '2016-12-31T23:59:60Z': RFC 3339" in (said := capsys.readouterr().err)
    assert "second 60 is a leap second" in said
