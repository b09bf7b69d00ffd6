"""Tests of reading PubMed citations from XML."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from onym.corpora.corpus import read_corpus, read_sources
from onym.corpora.formats import detect, pubmed
from onym.corpora.reading import is_loss
from onym.errors import ConfigError
from onym.types import Document, Passage, Problem
from tests.support.documents import source_of, write_to_memory

ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID Version='1'>{pmid}</PMID><Article>{article}</Article></MedlineCitation>"
    "</PubmedArticle>"
)
TITLE = "<ArticleTitle>The <i>p</i>53 &amp; fever.</ArticleTitle>"
ABSTRACT = (
    "<Abstract><AbstractText Label='AIM' NlmCategory='OBJECTIVE'>To H<sub>2</sub>O.</AbstractText>"
    "<AbstractText>Then.</AbstractText><CopyrightInformation>no</CopyrightInformation></Abstract>"
)


def file(*articles: str) -> str:
    head = '<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD" "http://x/pubmed.dtd">'
    return f"{head}<PubmedArticleSet>{''.join(articles)}<DeleteCitation><PMID>1</PMID></DeleteCitation></PubmedArticleSet>"


def test_reads_title_and_labelled_sections() -> None:
    source = source_of(a__xml=file(ARTICLE.format(pmid=7, article=TITLE + ABSTRACT), ARTICLE.format(pmid=8, article=TITLE)))
    assert detect(source) == "pubmed"
    first, second, deleted = pubmed.read(source)
    text = "The p53 & fever. AIM: To H2O. Then."
    assert first == Document(
        "7", text, passages=(Passage(0, 16, "title"), Passage(17, 29, "abstract"), Passage(30, 35, "abstract"))
    )
    assert second == Document("8", "The p53 & fever.", passages=(Passage(0, 16, "title"),))
    assert isinstance(deleted, Problem)
    assert (deleted.document_id, deleted.code) == ("1", "document-deleted")


def test_later_versions_have_their_own_ids() -> None:
    later = ARTICLE.replace("Version='1'", "Version='2'")
    source = source_of(a__xml=file(ARTICLE.format(pmid=7, article=TITLE), later.format(pmid=7, article=TITLE)))
    assert [doc.id for doc in pubmed.read(source) if isinstance(doc, Document)] == ["7", "7.2"]


def test_a_deletion_is_not_a_loss() -> None:
    items = list(read_sources([source_of(a__xml=file(ARTICLE.format(pmid=7, article=TITLE)))]))
    assert [(item.ordinal, is_loss(item)) for item in items if isinstance(item, Problem)] == [(2, False)]


def test_reading_continues_after_an_article_without_an_id() -> None:
    broken = "<PubmedArticle><MedlineCitation/></PubmedArticle>"
    items = list(
        pubmed.read(source_of(a__xml=file(broken, ARTICLE.format(pmid="", article=""), ARTICLE.format(pmid=8, article=""))))
    )
    assert [type(item) for item in items] == [Problem, Problem, Document, Problem]


def test_writing_raises_format_read_only() -> None:
    with pytest.raises(ConfigError) as caught:
        write_to_memory(pubmed, [])
    assert caught.value.code == "format-read-only"


@pytest.mark.real_data
def test_reads_a_real_file(real_data: Path) -> None:
    docs = list(islice(read_corpus(real_data / "pubmed" / "pubmed20n0014.xml.gz"), 500))
    assert all(isinstance(doc, Document) and doc.id.isdecimal() and doc.text for doc in docs)
    assert isinstance(docs[0], Document)
    assert docs[0].id == "399296"
    assert len(docs[0].passages) == 2
