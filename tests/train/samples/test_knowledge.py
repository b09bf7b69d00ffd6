from __future__ import annotations

import pytest

from onym.kb import KnowledgeBase
from onym.text.layout import Layout
from onym.text.template import GENBIOEL, GENRE, Template
from onym.text.tokens import Tokenizer
from onym.train.samples.base import Sample, Samples
from onym.train.samples.knowledge import KnowledgeSamples
from tests.text.small_bpe import tokenizer_json
from tests.train.samples.made_kb import made_kb

MANY = range(400)
INFARCTION = 0


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_kb(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return Tokenizer(tokenizer_json())


def is_part(part: list[int], whole: list[int]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def test_it_is_a_map_of_samples(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples: Samples[Sample] = KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 1000, 7)
    assert len(samples) == 1000
    assert KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 1000, 7).epoch == len(kb.term_names)
    assert samples.__getitems__(MANY) == KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 10, 7).__getitems__(MANY)
    assert samples.__getitems__(MANY) != KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 1000, 8).__getitems__(MANY)
    assert samples.__getitems__([]) == []


def test_a_sample_does_not_depend_on_its_batch(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 1000, 7)
    backwards = samples.__getitems__(MANY[::-1])
    assert samples.__getitems__(MANY) == backwards[::-1]
    assert [samples.__getitems__([place])[0] for place in MANY[:30]] == samples.__getitems__(MANY[:30])


@pytest.mark.parametrize("template", [GENBIOEL, GENRE])
@pytest.mark.parametrize("window", [1, 32, 64, 512])
def test_the_mention_stands_between_its_markers(kb: KnowledgeBase, tokens: Tokenizer, template: Template, window: int) -> None:
    samples = KnowledgeSamples(kb, Layout(template, tokens, window), 1000, 7, mention="similar")
    for sample, said in zip(samples.__getitems__(MANY), samples.statements.at(MANY), strict=True):
        marked = tokens.ids(f" {template.start} {kb.names[said.mention]} {template.end}")
        assert is_part(marked, sample.source)
        assert len(sample.source) <= max(window, len(marked) + 2)
        assert sample.source[0] == tokens.before[0]
        assert sample.source[-1] == tokens.after[0]


def test_a_narrow_window_keeps_the_words_beside_the_mention(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, Layout(GENBIOEL, tokens, 64), 1000, 7)
    wide = KnowledgeSamples(kb, Layout(GENBIOEL, tokens, 512), 1000, 7)
    cut = 0
    for narrow, whole in zip(samples.__getitems__(MANY), wide.__getitems__(MANY), strict=True):
        inner = narrow.source[1:-1]
        assert is_part(inner, whole.source)
        cut += len(narrow.source) < len(whole.source)
    assert cut > 20  # the definition of asthma, at least


def test_prompt_and_name_are_the_layouts(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, Layout(GENBIOEL, tokens), 1000, 7)
    for sample, said in zip(samples.__getitems__(MANY), samples.statements.at(MANY), strict=True):
        assert tokens.text(sample.prompt) == f" {kb.names[said.mention]} is"
        assert tokens.text(sample.name) == f" {kb.names[said.target]}"
        assert tokens.eos not in sample.name


def test_letters_of_a_definition_are_not_special(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    """A definition that says `START`, `END` and `</s>` says letters."""
    samples = KnowledgeSamples(kb, Layout(GENBIOEL, tokens, 512), 1000, 7)
    met = 0
    start, end = tokens.ids(" START"), tokens.ids(" END")
    for sample, said in zip(samples.__getitems__(MANY), samples.statements.at(MANY), strict=True):
        if said.concept != INFARCTION:
            continue
        met += 1
        assert sample.source.count(tokens.eos) == 1
        assert [
            len([at for at in range(len(sample.source)) if sample.source[at : at + len(mark)] == mark]) for mark in (start, end)
        ] == [1, 1]
        assert "necrosis start of the end myocardium </s> ." in tokens.text(sample.source)
    assert met > 50
