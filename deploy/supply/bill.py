"""Write the bill of materials as CycloneDX JSON, and list the licences: ``python -m deploy.supply.bill``.

The same locks give the same bytes, where SOURCE_DATE_EPOCH says of when it is.
"""

import argparse
import os
import time
import tomllib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from deploy.host.machine import ROOT, RUNTIME
from deploy.supply.parts import ShippedPart, parts

SCHEMA = SchemaVersion.V1_6
UNKNOWN = "(not said)"


def bill_of(listed: Iterable[ShippedPart], made_at: datetime) -> str:
    """Return the bill of Coincide with the parts ``listed``, as CycloneDX JSON."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    components = {_component(part) for part in listed}
    purls = ",".join(sorted(str(each.purl) for each in components))
    bom = Bom(components=components, serial_number=uuid.uuid5(uuid.NAMESPACE_URL, purls))
    bom.metadata.timestamp = made_at
    whole = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        bom_ref="coincide",
        licenses=[LicenseFactory().make_from_string(project["license"])],
    )
    bom.metadata.component = whole
    bom.register_dependency(whole, components)
    text: str = make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=1)
    return f"{text}\n"


def _component(part: ShippedPart) -> Component:
    used = [Property(name="coincide:used-by", value=user) for user in part.used_by]
    # one package has a file for each platform, and a component's hashes are of one file
    files = (
        [Property(name="coincide:locked-sha256", value=each) for each in part.sha256] if len(part.sha256) > 1 else []
    )
    return Component(
        name=part.name,
        group=part.group,
        version=part.version,
        type=ComponentType.LIBRARY,
        bom_ref=part.purl,
        purl=PackageURL.from_string(part.purl),
        licenses=[LicenseFactory().make_from_string(part.licence)] if part.licence else [],
        hashes=[] if files else [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in part.sha256],
        properties=[*used, *files],
    )


def licence_table(listed: Iterable[ShippedPart]) -> str:
    """Return a line for each part: its licence, its name and version, and what uses it."""
    rows = sorted((part.licence or UNKNOWN, part.purl, ", ".join(part.used_by)) for part in listed)
    return "".join(f"{licence}\t{purl}\t{used_by}\n" for licence, purl, used_by in rows)


def main(arguments: list[str] | None = None) -> None:
    """Write both files into a folder."""
    parser = argparse.ArgumentParser(prog="python -m deploy.supply.bill", description="Write the bill of materials.")
    parser.add_argument("--folder", type=Path, default=RUNTIME / "supply", help="where to (default: .local/supply)")
    folder: Path = parser.parse_args(arguments).folder
    listed = parts()
    made_at = datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())), UTC)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "coincide.cdx.json").write_text(bill_of(listed, made_at), encoding="utf-8")
    (folder / "licences.tsv").write_text(licence_table(listed), encoding="utf-8")
    silent = [part.purl for part in listed if part.licence is None]
    print(f"{len(listed)} parts: {folder / 'coincide.cdx.json'}, {folder / 'licences.tsv'}")
    print(f"Licence not said by: {', '.join(silent)}" if silent else "Every part names its licence")


if __name__ == "__main__":
    main()
