"""Corrections: rules of people that say what a surface means, applied to the answers of a pipeline without training."""

from __future__ import annotations

from onym.corrections.rules import surface_key

__all__ = ["surface_key"]
