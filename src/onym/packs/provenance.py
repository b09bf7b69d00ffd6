"""Provenance of packs and installed pipelines: their sources, corpora and models, and the page of their licences.

These classes are stored in `pack.json`, recipes and `recipe.json`. The licence page is generated from them.
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
_CHANGES = "Names are normalised and indexed; their original spelling is kept as well."

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # including line breaks and bidi controls


def _replace_controls(text: str) -> str:
    return _CONTROLS.sub(" ", text)


ShortText = Annotated[str, StringConstraints(max_length=1_000), AfterValidator(_replace_controls)]
"""Single-line text, with control characters replaced by spaces. A stored record that contains one is not canonical."""


class Provenance(Protocol):
    """A third-party source, corpus or model with a licence."""

    def cite(self) -> list[str]:
        """Return the entry for the licence page, as Markdown lines."""


class PackedSource(Strict):
    """A release that the knowledge base was built from. `vocabulary` is empty if Onym does not recognise it."""

    name: ShortText
    vocabulary: ShortText
    release: ShortText
    licence: ShortText

    def cite(self) -> list[str]:
        """Return the name, the vocabulary if it differs, the release and the licence."""
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
    """Licence and attribution of a release or model in a recipe."""

    title: str = Field(min_length=1)
    version: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    attribution: str = Field(min_length=1)

    def cite(self) -> list[str]:
        """Return the title, version, licence and attribution."""
        first = f"- **{show(self.title)}**, release {show(self.version)}. Licence: {show(self.licence)}"
        return [first, "", f"  {self.attribution}"]


class FileDigest(Strict):
    """The size and the SHA-256 of a file."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


def licences_page(name: str, about: str, sections: Mapping[str, Sequence[Provenance]], own: str = "") -> str:
    """Return a licence page as Markdown with these sections; `own` is the text that the pipeline itself provides.

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
    """Escape third-party text for Markdown; empty text becomes "not stated"."""
    return escape(text) or NOT_STATED
