"""Review desks: people decide whether links are right, and their decisions become corrections and training data."""

from __future__ import annotations

from onym.review.decisions import Decision, Standing
from onym.review.desk import Desk, DeskDocument, DeskLink, open_desk

__all__ = ["Decision", "Desk", "DeskDocument", "DeskLink", "Standing", "open_desk"]
