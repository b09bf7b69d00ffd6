"""Corrections: rules of people that say what a surface means, applied to the answers of a pipeline without training."""

from __future__ import annotations

from onym.corrections.corrections import Corrections
from onym.corrections.file import read_corrections, read_rules, write_rules
from onym.corrections.rules import NO_CONCEPT, NOT_A_MENTION, Rule, surface_key

__all__ = [
    "NOT_A_MENTION",
    "NO_CONCEPT",
    "Corrections",
    "Rule",
    "read_corrections",
    "read_rules",
    "surface_key",
    "write_rules",
]
