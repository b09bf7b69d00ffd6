"""The component that marks mentions as negated, possible, historical, hypothetical or about somebody else."""

from __future__ import annotations

from collections.abc import Sequence

from onym.pipeline.component import Component, after_link
from onym.text.assertion import with_assertion
from onym.types import LinkedDocument


@after_link
def mark_assertions(batch: Sequence[LinkedDocument]) -> list[LinkedDocument]:
    """Return the documents with the assertion marks of their links."""
    return [with_assertion(linked) for linked in batch]


ASSERTION = Component("assertion", "after_link", mark_assertions, {"kind": "assertion"})
