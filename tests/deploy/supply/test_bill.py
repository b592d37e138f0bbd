"""The bill of materials is CycloneDX, names every part, and is the same each time."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deploy.supply.parts import ShippedPart, parts

pytest.importorskip("cyclonedx", reason="the packages of development were installed before this one was among them")

from cyclonedx.validation.json import JsonStrictValidator

from deploy.supply.bill import SCHEMA, bill_of, licence_table, main

WHEN = datetime(2026, 11, 24, tzinfo=UTC)
PACKAGE = ShippedPart("pkg:pypi/a@1", None, "a", "1", "MIT", ("0" * 64, "1" * 64), ("services", "fusion"))
JAR = ShippedPart("pkg:maven/org.b/b@2", "org.b", "b", "2", None, ("2" * 64,), ("broker",))


def test_it_is_valid_and_names_every_part() -> None:
    listed = parts()
    bill = bill_of(listed, WHEN)
    assert JsonStrictValidator(SCHEMA).validate_str(bill) is None
    document = json.loads(bill)
    assert sorted(each["purl"] for each in document["components"]) == [part.purl for part in listed]
    silent = {each["purl"] for each in document["components"] if "licenses" not in each}
    assert silent == {part.purl for part in listed if part.licence is None}
    assert document["metadata"]["component"]["name"] == "coincide"
    [whole] = [each for each in document["dependencies"] if each["ref"] == "coincide"]
    assert sorted(whole["dependsOn"]) == [part.purl for part in listed]


def test_a_jar_has_its_checksum_and_a_package_those_of_its_files() -> None:
    jar, package = json.loads(bill_of([PACKAGE, JAR], WHEN))["components"]
    assert jar["hashes"] == [{"alg": "SHA-256", "content": "2" * 64}]
    assert (jar["group"], "licenses" in jar) == ("org.b", False)
    assert "hashes" not in package
    properties = {(each["name"], each["value"]) for each in package["properties"]}
    assert properties == {
        ("coincide:used-by", "services"),
        ("coincide:used-by", "fusion"),
        ("coincide:locked-sha256", "0" * 64),
        ("coincide:locked-sha256", "1" * 64),
    }


def test_the_same_parts_give_the_same_bytes_in_any_order() -> None:
    assert bill_of([PACKAGE, JAR], WHEN) == bill_of([JAR, PACKAGE], WHEN)
    others = json.loads(bill_of([JAR], WHEN))
    assert others["serialNumber"] != json.loads(bill_of([PACKAGE, JAR], WHEN))["serialNumber"]


def test_licences_are_listed_and_who_is_silent_too() -> None:
    expected = "(not said)\tpkg:maven/org.b/b@2\tbroker\nMIT\tpkg:pypi/a@1\tservices, fusion\n"
    assert licence_table([PACKAGE, JAR]) == expected


def test_the_command_writes_both_as_of_the_time_that_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(WHEN.timestamp())))
    main(["--folder", str(tmp_path / "supply")])
    assert (tmp_path / "supply/coincide.cdx.json").read_text(encoding="utf-8") == bill_of(parts(), WHEN)
    assert (tmp_path / "supply/licences.tsv").read_text(encoding="utf-8") == licence_table(parts())
    assert str(tmp_path / "supply/coincide.cdx.json") in capsys.readouterr().out
