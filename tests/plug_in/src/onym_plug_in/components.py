"""Two components: one drops mentions in brackets before linking, the other says after it how many words a mention has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.pipeline import ComponentConfig, after_link, before_link
from onym.pipeline.prepare import Prepared
from onym.types import Link, LinkedDocument, Mention


@before_link
def drop_in_brackets(batch: Sequence[Prepared]) -> list[Prepared]:
    """Return the documents without mentions that are alone in brackets."""
    return [
        prepared.with_found([found for found in prepared.found if not _is_in_brackets(prepared.original.text, found.mention)])
        for prepared in batch
    ]


def _is_in_brackets(text: str, mention: Mention) -> bool:
    return text[: mention.start].endswith("(") and text[mention.end :].startswith(")")


class WordsConfig(ComponentConfig):
    """Options of the second component."""

    kind: Literal["words"] = "words"
    least: int = Field(default=1, ge=1, description="Minimum number of words that is noted.")


@after_link
class CountWords:
    """Notes the number of words of each mention."""

    Config = WordsConfig

    def __init__(self, config: WordsConfig, kb: KnowledgeBase) -> None:
        self._least = config.least

    def __call__(self, batch: Sequence[LinkedDocument]) -> list[LinkedDocument]:
        """Return the documents with the number of words of each link."""
        return [replace(linked, links=tuple(map(self._note, linked.links))) for linked in batch]

    def _note(self, link: Link) -> Link:
        count = len(link.mention.surface.split())
        return link if count < self._least else replace(link, extra={**link.extra, "words": count})
