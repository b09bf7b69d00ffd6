"""XML of BioC and PubMed: long texts, attributes and namespaces by the thousand, nesting, gaps, many empty elements."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hostile.case import MB, Case, file

_OPEN = b"<collection><document><id>1</id>"
_CLOSE = b"</document></collection>"
_LETTERS = b"abcdefghi "


def _bioc(inside: bytes) -> bytes:
    return _OPEN + inside + _CLOSE


def _passage(offset: int, text: bytes) -> bytes:
    return b"<passage><offset>%d</offset><text>%s</text></passage>" % (offset, text)


def _pubmed(title: bytes, abstract: bytes = b"") -> bytes:
    article = b"<Article><ArticleTitle>" + title + b"</ArticleTitle><Abstract>" + abstract + b"</Abstract></Article>"
    return (
        b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID>"
        + article
        + b"</MedlineCitation></PubmedArticle></PubmedArticleSet>"
    )


def _attributes(count: int, form: bytes) -> bytes:
    return b" ".join(form % number for number in range(count))


def _case(name: str, content: Callable[[], bytes], form: str = "bioc_xml") -> Case:
    return Case(f"{form}: {name}", "", file("a.xml", content), act="corpus", format=form)


CASES = (
    _case("a text of 20 MB", lambda: _bioc(_passage(0, _LETTERS * (2 * MB)))),
    _case("a text of 7 MB", lambda: _bioc(_passage(0, _LETTERS * (7 * MB // 10)))),
    _case("a text of a million references", lambda: _bioc(_passage(0, b"&#233;" * MB))),
    _case("a CDATA section of 20 MB", lambda: _bioc(_passage(0, b"<![CDATA[" + _LETTERS * (2 * MB) + b"]]>"))),
    _case("a text cut by 150,000 comments", lambda: _bioc(_passage(0, b"a<!---->" * 150_000))),
    _case("100 gaps of 8 MB", lambda: _bioc(b"".join(_passage(n * 8 * MB, b"a") for n in range(100)))),
    _case("190,000 empty elements", lambda: _bioc(b"<a/>" * 190_000)),
    _case("100,000 attributes", lambda: _bioc(b"<passage " + _attributes(100_000, b'a%x=""') + b"/>")),
    _case("50,000 namespaces", lambda: _bioc(b"<passage " + _attributes(50_000, b'xmlns:a%x="b"') + b"/>")),
    _case("namespaces on nested elements",
          lambda: _bioc(b"".join(b"<a %s>" % _attributes(1000, b'xmlns:a%x="b"') for _ in range(60)) + b"</a>" * 60)),
    _case("nested 200 deep, a thousand times", lambda: _bioc((b"<a>" * 200 + b"</a>" * 200) * 450)),
    _case("nested 200,000 deep", lambda: _bioc(b"<a>" * 200_000)),
    _case("40,000 infons", lambda: _bioc(b'<infon key="a">b</infon>' * 40_000)),
    _case("20,000 documents of nothing", lambda: b"<collection>" + b"<document/>" * 20_000 + b"</collection>"),
    _case("a title of 20 MB", lambda: _pubmed(_LETTERS * (2 * MB)), "pubmed"),
    _case("60,000 sections", lambda: _pubmed(b"a", b'<AbstractText Label="b">c</AbstractText>' * 60_000), "pubmed"),
    _case("a title in 90,000 tags", lambda: _pubmed(b"<i>a</i>" * 90_000), "pubmed"),
    _case("a label of 7 MB", lambda: _pubmed(b"a", b'<AbstractText Label="' + b"b" * (7 * MB) + b'"/>'), "pubmed"),
)  # fmt: skip
