"""Fail if the licence of a runtime dependency is not known to be permissive; print the number of dependencies.

File-level copyleft, such as the MPL, counts as permissive: Onym can be used in any product. The licence is read from the
package's own metadata: the SPDX expression, else the classifiers, else the licence field.
"""

import re
import sys

from packages import needed_packages

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|MPL|Mozilla|ISC|ISCL|HPND|Zlib|Unlicense|CC0|BSL-1\.0|CNRI)\b", re.I
)
COPYLEFT = re.compile(r"GPL|GNU|SSPL|BUSL|Commons Clause|Proprietary", re.I)
BY_HAND: dict[str, str] = {}  # packages whose metadata does not say it, read in their repositories


def is_permissive(licence: str) -> bool:
    """Return whether a licence is known to be permissive."""
    return bool(PERMISSIVE.search(licence)) and not COPYLEFT.search(licence)


def main() -> None:
    """Print the number of packages, and fail if a licence is not permissive."""
    found = {package.name: BY_HAND.get(package.name) or package.licence for package in needed_packages()}
    refused = {name: text for name, text in found.items() if not is_permissive(text)}
    for name, text in sorted(refused.items()):
        print(f"{name}: its licence is not known to be permissive: {text or 'none'}", file=sys.stderr)
    if refused:
        sys.exit(1)
    print(f"licences: {len(found)} packages, all permissive")


if __name__ == "__main__":
    main()
