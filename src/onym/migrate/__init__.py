"""Carries annotations over to a new release: what changed, and what became of every link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.migrate.audit import Migrated
    from onym.migrate.run import migrate

__all__ = ["Migrated", "migrate"]
__getattr__ = lazy(__name__, {"Migrated": "onym.migrate.audit", "migrate": "onym.migrate.run"})
