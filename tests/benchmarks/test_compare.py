"""Two checkouts are compared by running each micro benchmark on both; here both are this one."""

import pytest

from benchmarks.compare import HERE, compare, rows
from benchmarks.micro import MICRO

pytestmark = pytest.mark.slow


def test_a_checkout_beside_itself_gives_the_same_answer() -> None:
    [row] = rows(HERE, ["match_probability"], rounds=1)
    name, ratio, _, base_us, here_us, agree = row
    assert (name, agree) == ("match_probability", "yes")
    assert float(ratio) == pytest.approx(float(base_us) / float(here_us), rel=0.02)


def test_a_benchmark_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compare(["--base", ".", "nothing"])
    assert "unknown: nothing" in capsys.readouterr().err
    assert len(MICRO) > 10
