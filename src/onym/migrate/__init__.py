"""Carries annotations over to a new release: what changed, and what became of every link."""

from __future__ import annotations
