"""An output format for .ids files: the concept id of each link, one per line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from onym.outputs import OutputContext
from onym.types import LinkedDocument

ENDINGS = (".ids",)


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write a line for each link."""
    for each in linked:
        file.writelines(f"{link.concept_id}\n".encode() for link in each.links)
