"""Write the software bill of materials of Onym as CycloneDX JSON: `python .ci/sbom.py onym.cdx.json`. Standard library only.

It lists each package that Onym needs with all its extras: name, version and hash from `.ci/locked/newest.txt`, licence from the
installed package. torch has no hash, since its builds differ from machine to machine. The same packages give the same bytes.
"""

import json
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packages import PROJECT, ROOT, Package, needed_packages, root_requires

LOCKED = Path(__file__).parent / "locked" / "newest.txt"
WITHOUT_HASH = ("torch",)  # see lock.py


def read_locked(path: Path = LOCKED) -> dict[str, tuple[str, str]]:
    """Return version and SHA-256 of each locked package, by name."""
    found = {}
    for line in path.read_text().splitlines():
        requirement, _, digest = line.partition(" --hash=sha256:")
        name, _, version = requirement.partition("==")
        found[name] = (version, digest)
    return found


def bill(packages: list[Package], locked: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the bill of materials of these packages.

    Raises:
        ValueError: a package is not locked, or another version of it is installed.

    """
    versions = {each.name: each.version for each in packages}
    links = {ROOT: root_requires()} | {each.name: list(each.requires) for each in packages}
    versions[ROOT] = PROJECT["version"]
    content = {
        "metadata": {"component": _describe(ROOT, versions[ROOT], {"expression": PROJECT["license"]})},
        "components": [_component(each, locked) for each in packages],
        "dependencies": [
            {"ref": _purl(name, versions[name]), "dependsOn": [_purl(each, versions[each]) for each in needed]}
            for name, needed in sorted(links.items())
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1} | content


def _component(package: Package, locked: dict[str, tuple[str, str]]) -> dict[str, Any]:
    licence = {"expression": package.licence} if package.is_spdx else {"license": {"name": package.licence}}
    row = _describe(package.name, package.version, licence if package.licence else None)
    row["scope"] = "required" if package.is_core else "optional"
    if package.name not in WITHOUT_HASH:
        version, digest = locked.get(package.name, (None, ""))
        if version != package.version:
            message = f"{package.name} {package.version} is installed, {version or 'no version'} is locked in {LOCKED.name}"
            raise ValueError(message)
        row["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return row


def _describe(name: str, version: str, licence: dict[str, Any] | None) -> dict[str, Any]:
    purl = _purl(name, version)
    row: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return row | ({"licenses": [licence]} if licence else {})


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{quote(version, safe='')}"


def main() -> None:
    """Write the bill to the path in the first argument, and print how many packages it has."""
    path = Path(sys.argv[1])
    packages = needed_packages()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(packages, read_locked()), indent=1) + "\n")
    print(f"sbom: {len(packages)} packages in {path.name}")


if __name__ == "__main__":
    main()
