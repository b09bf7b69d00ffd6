"""`onym info`."""

from __future__ import annotations

from typing import Annotated

from onym.cli.console import JSON, write_json, write_lines


def command(json: Annotated[bool, JSON] = False) -> None:
    """List all linkers, detectors, readers, corpus formats and output formats, with the package that each comes from.

    Example: onym info
    """
    from onym.registry import REGISTRIES

    found = [
        {"kind": part.kind, "name": part.name, "package": part.package, "version": part.version, "refused": refusal}
        for registry in REGISTRIES
        for part, refusal in registry.parts()
    ]
    if json:
        write_json(found)
        return
    rows = [(each["kind"], each["name"], f"{each['package']} {each['version']}", each["refused"]) for each in found]
    write_lines([(*row, f"refused: {refused}" if refused else "") for *row, refused in rows])
