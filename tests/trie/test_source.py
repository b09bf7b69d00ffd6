from __future__ import annotations

from onym.models.template import GENBIOEL
from onym.models.tokens import Tokenizer
from onym.trie.artefact import NameTemplate, TokenSource
from tests.trie.letters import Letters, Plain


def as_source(tokenizer: Tokenizer) -> TokenSource:
    """Return a tokenizer of the house as what a trie needs: mypy says whether it is."""
    return tokenizer


def test_what_a_trie_asks_of_a_tokenizer() -> None:
    source: TokenSource = Letters()
    assert set(TokenSource.__annotations__) <= vars(source).keys()
    assert source.ids_of(["ab", ""])[0].tolist() == [97, 98]
    assert hasattr(Tokenizer, "ids_of")


def test_what_a_trie_asks_of_a_template() -> None:
    templates: list[NameTemplate] = [GENBIOEL, Plain()]
    assert [(template.name, template.name_text("Fever")) for template in templates] == [
        ("genbioel", " fever"),
        ("plain", "Fever"),
    ]
