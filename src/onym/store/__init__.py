"""The only door to disk and network.

Reads hostile files within limits, publishes artefacts whole or not at all, maps them into memory. May import: errors.
Always true here: nothing is unpickled, nothing is fetched unless asked, no half-written file ever has a final name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.store.parts import ModelReference, OpenContext

__all__ = ["ModelReference", "OpenContext"]
__getattr__ = lazy(
    __name__,
    {
        "ModelReference": "onym.store.parts",
        "OpenContext": "onym.store.parts",
    },
)
