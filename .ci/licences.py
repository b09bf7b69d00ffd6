"""Refuse a runtime dependency whose licence is not known to be permissive; print how many there are.

Permissive, or copyleft by the file, as the MPL is: Onym may then be used in any product. What a package says is read from its
own metadata: the SPDX expression, else the classifiers, else the licence field.
"""

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

ROOT = "onym"
EXTRAS = ("lexical", "report", "generative", "dense", "train", "testing")
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|MPL|Mozilla|ISC|ISCL|HPND|Zlib|Unlicense|CC0|BSL-1\.0|CNRI)\b", re.I
)
COPYLEFT = re.compile(r"GPL|GNU|SSPL|BUSL|Commons Clause|Proprietary", re.I)
BY_HAND: dict[str, str] = {}  # packages whose metadata does not say it, read in their repositories


def said(package: Distribution) -> str:
    """Return what a package says of its licence."""
    meta = package.metadata
    classifiers = [each.rpartition("::")[2].strip() for each in meta.get_all("Classifier") or () if each.startswith("License")]
    first_line = (meta.get("License") or "").strip().partition("\n")[0]
    return meta.get("License-Expression") or "; ".join(classifiers) or first_line


def is_permissive(licence: str) -> bool:
    """Tell whether a licence is known to be permissive."""
    return bool(PERMISSIVE.search(licence)) and not COPYLEFT.search(licence)


def licences() -> dict[str, str]:
    """Return every package that Onym needs with all its extras, and its licence."""
    found: dict[str, str] = {}
    waiting = [(ROOT, EXTRAS)]
    while waiting:
        name, extras = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # for another system
        if name not in found or extras:
            found[name] = BY_HAND.get(name) or said(package)
            waiting += [needed for line in package.requires or () for needed in _needed(Requirement(line), extras)]
    return found


def _needed(requirement: Requirement, extras: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    name = requirement.name.lower()
    is_needed = not requirement.marker or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    return [(name, tuple(requirement.extras))] if is_needed and name != ROOT else []


def main() -> None:
    """Say what was found, and fail where a licence is not permissive."""
    found = licences()
    refused = {name: text for name, text in found.items() if not is_permissive(text)}
    for name, text in sorted(refused.items()):
        print(f"{name}: its licence is not known to be permissive: {text or 'none'}", file=sys.stderr)
    if refused:
        sys.exit(1)
    print(f"licences: {len(found)} packages, all permissive")


if __name__ == "__main__":
    main()
