"""The description of answers; `test_answers` compares it with real ones."""

from __future__ import annotations

from onym.serve.refusals import overloaded
from onym.serve.replies import ERROR_EXAMPLE, LINKED_EXAMPLE, ErrorReply, LinkedReply, LinkReply
from onym.types import COLUMNS


def test_examples_are_as_they_are_described() -> None:
    linked = LinkedReply.model_validate(LINKED_EXAMPLE)
    assert linked.text[linked.links[0].start : linked.links[0].end] == linked.links[0].text
    assert ErrorReply.model_validate(ERROR_EXAMPLE).error.model_dump() == overloaded().as_dict()


def test_a_link_has_the_columns_of_the_flat_table() -> None:
    assert tuple(LinkReply.model_fields) == (*COLUMNS, "candidates")
