"""How a bare machine is made and entered: commands, the order of mounts, and what it takes over from this one."""

import shlex
from pathlib import Path

import pytest

from deploy.host.machine import LocalError
from trials.bare_machine import machine, network
from trials.bare_machine.machine import MOUNTS, PACKAGES, bare_folder, clone, debootstrap, inside

ROOT = Path("/a b/machine")


def test_the_machine_has_what_the_readme_asks_for_and_neither_java_nor_compiler() -> None:
    command = debootstrap(ROOT, "bookworm", "http://mirror.example/debian")
    assert command[0] == "debootstrap"
    assert command[1] == "--variant=minbase"
    assert command[-3:] == ["bookworm", str(ROOT), "http://mirror.example/debian"]
    assert set(PACKAGES) == {"python3", "python3-venv", "make", "git", "curl", "ca-certificates"}


def test_what_is_committed_is_cloned_whole_and_not_linked() -> None:
    command = clone(ROOT)
    assert "--no-hardlinks" in command
    assert command[-1] == "/a b/machine/root/coincide"


def test_mounts_come_before_the_machine_is_entered_and_belong_to_the_run_alone() -> None:
    command = inside(ROOT, "make demo\nmake down", {"PIP_INDEX_URL": "http://x y"})
    assert command[:6] == ["unshare", "--mount", "--propagation", "private", "--pid", "--fork"]
    assert "--kill-child" in command
    steps = [shlex.split(step) for step in command[-1].split(" && ")]
    assert [step[0] for step in steps] == ["mkdir", *["mount"] * len(MOUNTS), "exec"]
    assert [step[-1] for step in steps[1:-1]] == [f"{ROOT}{place}" for _, _, place in MOUNTS]
    entered = steps[-1]
    assert entered[1:3] == ["chroot", str(ROOT)]
    assert entered[-3:] == ["/bin/sh", "-ec", "make demo\nmake down"]
    assert "-i" in entered
    assert "PIP_INDEX_URL=http://x y" in entered
    assert not [word for word in entered if word.startswith("PATH=") and ".venv" in word]


def test_the_folder_goes_away_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PROGRAMS", ())
    folder = tmp_path / "machine"
    with pytest.raises(ZeroDivisionError), bare_folder(folder, kept=False):
        raise ZeroDivisionError
    assert not folder.exists()
    with bare_folder(folder, kept=True):
        pass
    with pytest.raises(LocalError, match="is there already"), bare_folder(folder, kept=False):
        pass
    assert folder.exists(), "it was not ours"


def test_a_program_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PROGRAMS", ("no-such-program",))
    with pytest.raises(LocalError, match="apt-get install no-such-program"), bare_folder(tmp_path / "m", kept=False):
        pass


def test_only_variables_of_the_network_go_in() -> None:
    told = {
        "PIP_INDEX_URL": "a",
        "UV_DEFAULT_INDEX": "b",
        "https_proxy": "c",
        "SSL_CERT_FILE": "d",
        "GOPROXY": "e",
    }
    others = {"PIP_FIND_LINKS": "/w", "UV_CACHE_DIR": "/c", "JAVA_HOME": "/j", "COINCIDE_CONFIG": "x", "CI": "true"}
    assert network.variables({**told, **others}) == told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sources.list", "deb [signed-by=/k.gpg] http://m.example/debian/ trixie main\n"),
        ("sources.list.d/debian.sources", "Types: deb\nURIs: http://m.example/debian\nSuites: trixie\n"),
    ],
)
def test_debian_is_taken_from_where_this_machine_takes_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "other.list").write_text("deb http://other.example/node stable main\n")
    (tmp_path / name).write_text(text)
    assert network.mirrors(tmp_path) == ("http://m.example/debian", "http://m.example/debian-security")


def test_elsewhere_debian_is_taken_from_its_own_mirror(tmp_path: Path) -> None:
    assert network.mirrors(tmp_path) == (network.MIRROR, f"{network.MIRROR}-security")


def test_of_apt_only_how_it_fetches_goes_in() -> None:
    dumped = 'APT::Install-Recommends "0";\nAcquire::http::Proxy "http://p:1";\nDPkg::Post-Invoke:: "rm -rf x";\n'
    assert network.apt_settings(dumped) == 'Acquire::http::Proxy "http://p:1";\n'


def test_what_reaches_registries_is_taken_over(tmp_path: Path) -> None:
    outer, root = tmp_path / "outer", tmp_path / "root"
    for folder in (outer / "etc/apt/sources.list.d", outer / network.AUTHORITIES, root / "etc/apt/apt.conf.d"):
        folder.mkdir(parents=True)
    (outer / "etc/pip.conf").write_text("[global]\n")
    (outer / network.AUTHORITIES / "own.crt").write_text("certificate")
    network.take_over(root, "bookworm", outer=outer)
    assert (root / "etc/pip.conf").read_text() == "[global]\n"
    assert (root / network.AUTHORITIES / "own.crt").exists()
    assert "bookworm-security" in (root / "etc/apt/sources.list").read_text()
    assert not (root / "etc/hosts").exists()
