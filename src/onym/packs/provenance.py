"""Provenance: which sources, corpora and models a pack or an installed pipeline is made of, and the page of their licences.

`pack.json`, recipes and `recipe.json` store these classes. A page of licences is written from them alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from pydantic import AfterValidator, Field, StringConstraints

from onym.config import Strict
from onym.store.markdown import escape

NOT_STATED = "not stated"
OWN_HEADING = "## As the pipeline states"
_CHANGES = "Names are normalised and indexed; they are kept as the source writes them, too."

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # line breaks and bidi controls too


def _replace_controls(text: str) -> str:
    return _CONTROLS.sub(" ", text)


ShortText = Annotated[str, StringConstraints(max_length=1_000), AfterValidator(_replace_controls)]
"""Text on one line: a control character becomes a space. A record that holds one is rejected: Onym writes it in another way."""


class Provenance(Protocol):
    """Something that comes from elsewhere, under a licence."""

    def cite(self) -> list[str]:
        """Return the lines of its entry on a page of licences, as Markdown."""


class PackedSource(Strict):
    """A release that the knowledge base was built from. `vocabulary` is empty where Onym does not know it."""

    name: ShortText
    vocabulary: ShortText
    release: ShortText
    licence: ShortText

    def cite(self) -> list[str]:
        """Return the name, the vocabulary if that has another name, the release and the licence."""
        vocabulary = f" ({show(self.vocabulary)})" if self.vocabulary not in ("", self.name) else ""
        return [f"- **{show(self.name)}**{vocabulary}, release {show(self.release)}. Licence: {show(self.licence)}"]


class PackedCorpus(Strict):
    """A corpus that a model of the pack was trained on."""

    name: ShortText
    documents: int = Field(ge=0)
    licence: ShortText

    def cite(self) -> list[str]:
        """Return the name and the licence."""
        return [f"- **{show(self.name)}**. Licence: {show(self.licence)}"]


class LicenceTerms(Strict):
    """Under which terms a release or a model of a recipe may be used, and how it is cited."""

    title: str = Field(min_length=1)
    version: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    attribution: str = Field(min_length=1)

    def cite(self) -> list[str]:
        """Return the title, the version and the licence, and the attribution as the recipe has it."""
        first = f"- **{show(self.title)}**, release {show(self.version)}. Licence: {show(self.licence)}"
        return [first, "", f"  {self.attribution}"]


class FileDigest(Strict):
    """The size and the SHA-256 of a file."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


def licences_page(name: str, about: str, sections: Mapping[str, Sequence[Provenance]], own: str = "") -> str:
    """Return a page of licences as Markdown, with a section for each kind of thing; `own` is what the pipeline itself states.

    >>> source = PackedSource(name="MeSH", vocabulary="MeSH", release="2026", licence="free to use")
    >>> print(licences_page("mine", "A pack.", {"Knowledge base": [source]}).splitlines()[6])
    - **MeSH**, release 2026. Licence: free to use
    """
    lines = [f"# Licences of {name}", "", f"{about} {_CHANGES}", ""]
    for heading, found in sections.items():
        if found:
            lines += [f"## {heading}", "", *(line for each in found for line in each.cite()), ""]
    if own:
        lines += [OWN_HEADING, "", own.strip(), ""]
    return "\n".join(lines)


def show(text: str) -> str:
    """Return text of others as Markdown on one line; an empty one is not stated."""
    return escape(text) or NOT_STATED
