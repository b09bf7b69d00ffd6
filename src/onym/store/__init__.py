"""Disk and network access: no other package writes files or downloads.

Reads untrusted files within limits, publishes artefacts atomically and memory-maps them. Invariants: nothing is unpickled,
nothing is downloaded implicitly, and an incomplete file has a temporary name until it is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.store.files.input_file import InputFile
    from onym.store.limits import Limits
    from onym.store.output import whole_file

__all__ = ["InputFile", "Limits", "whole_file"]
__getattr__ = lazy(
    __name__,
    {
        "InputFile": "onym.store.files.input_file",
        "Limits": "onym.store.limits",
        "whole_file": "onym.store.output",
    },
)
