from __future__ import annotations

from onym.methods.generative.template import GENBIOEL
from onym.methods.generative.trie.artefact import NameTemplate, TokenSource
from onym.models.tokens import Tokenizer
from tests.methods.generative.trie.letters import Letters, Plain


def as_source(tokenizer: Tokenizer) -> TokenSource:
    """Return Onym's tokenizer as a `TokenSource`, so that mypy checks the protocol."""
    return tokenizer


def test_tokenizer_implements_the_protocol() -> None:
    source: TokenSource = Letters()
    assert set(TokenSource.__annotations__) <= vars(source).keys()
    assert source.ids_of(["ab", ""])[0].tolist() == [97, 98]
    assert hasattr(Tokenizer, "ids_of")


def test_template_implements_the_protocol() -> None:
    templates: list[NameTemplate] = [GENBIOEL, Plain()]
    assert [(template.name, template.name_text("Fever")) for template in templates] == [
        ("genbioel", " fever"),
        ("plain", "Fever"),
    ]
