"""Tests that run for every format."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.corpora.base import ALL, Format
from onym.corpora.formats import READ_ONLY, get
from onym.errors import OnymError
from onym.registry import FORMATS
from onym.store.files.source import InputFile, Source
from onym.store.limits import Limits
from onym.types import Document, Mention, Passage, Problem, Relation
from tests.support.documents import assert_preserved, documents, lists_of_mentions, trip, write_to_memory

# Formats with one mention per document: a document with several mentions becomes several documents.
OF_MENTIONS = {"genbioel", "biosyn", "cometa", "askapatient"}
WHOLE = [name for name in FORMATS.built_in if name not in OF_MENTIONS | set(READ_ONLY)]


@pytest.fixture(params=WHOLE)
def form(request: pytest.FixtureRequest) -> Format:
    return get(request.param)


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=60)
@given(document=documents())
def test_preserved_facets_are_read_back(name: str, document: Document) -> None:
    assert_preserved(get(name), document)


@pytest.mark.parametrize("name", sorted(OF_MENTIONS))
@settings(max_examples=100)
@given(document=documents() | lists_of_mentions())
def test_preserved_facets_of_mentions_are_read_back(name: str, document: Document) -> None:
    if get(name).preserved_facets(document):
        assert_preserved(get(name), document)
    else:
        trip(get(name), [document])


@pytest.mark.parametrize("name", FORMATS.built_in)
def test_holds_lists_only_known_facets(name: str) -> None:
    assert get(name).HOLDS <= ALL


def test_an_empty_corpus_is_read_back_empty(form: Format) -> None:
    assert trip(form, []) == []


DOCUMENT = Document(
    "1", "High \u03b1 fever. It rose\U0001f9ec.",
    (
        Mention(7, 12, "fever", ("mesh:D005334",), "Disease", "T1"),
        Mention(0, 12, "High \u03b1 fever", ("mesh:D005334", "hp:0001945"), "Disease", "T2", ((0, 4), (7, 12)), (("k", "v"),)),
    ),
    (Passage(0, 13, "title"), Passage(14, 23, "abstract")), (Relation("r", (("Arg1", "T1"), ("Arg2", "T2")), "R1"),),
)  # fmt: skip
MARKS = [
    b"\t",
    b"\n",
    b"|",
    b'"',
    b"<",
    b">",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\x00",
    b"\xff",
    b"\\u",
    b"9999",
    b"-1",
    b";",
]


@pytest.mark.parametrize("name", [name for name in FORMATS.built_in if name not in READ_ONLY])
@settings(max_examples=80)
@given(data=st.data())
def test_corrupt_files_give_problems_or_onym_errors(name: str, data: st.DataObject) -> None:
    files = dict(write_to_memory(get(name), [DOCUMENT, Document("2", "fever", (Mention(0, 5, "fever"),))]))
    for _ in range(data.draw(st.integers(1, 4))):
        key = data.draw(st.sampled_from(sorted(files)))
        offset = data.draw(st.integers(0, len(files[key])))
        cut = data.draw(st.integers(0, 6))
        files[key] = (
            files[key][:offset] + data.draw(st.sampled_from(MARKS) | st.binary(max_size=3)) + files[key][offset + cut :]
        )
    source = Source.of_files("a", [InputFile.from_bytes(key or "a.txt", value) for key, value in files.items()])
    said = []
    try:
        said += [item.what for item in get(name).read(source) if isinstance(item, Problem)]
    except OnymError as e:
        said.append(str(e))
    assert not any("fever" in what for what in said)


@pytest.mark.parametrize("name", FORMATS.built_in)
@given(data=st.binary(max_size=200))
def test_detection_does_not_crash_on_any_bytes(name: str, data: bytes) -> None:
    source = Source.of_files("a", [InputFile.from_bytes("a.txt", data)])
    with suppress(OnymError):
        get(name).matches(source)
    with suppress(OnymError):
        list(get(name).read(source))


def documents_with_bad_one(name: str, bad: bytes) -> dict[str, bytes]:
    """Return a file of three documents, with an invalid byte or line in the second."""
    line = {
        "pubtator": b"%d|t|Fever %s\n%d|a|\n\n",
        "jsonl": b'{"id":"%d","text":"Fever %s"}\n',
        "bigbio": b'{"document_id":"%d","id":"1","passages":[{"type":"","text":["Fever %s"],"offsets":[[0,5]]}]}\n',
        "pubannotation": b'{"sourceid":"%d","text":"Fever %s","denotations":[]}\n',
        "label_studio": b'{"id":%d,"data":{"text":"Fever %s"},"annotations":[]}\n',
        "doccano": b'{"id":%d,"text":"Fever %s","label":[]}\n',
        "bioc_json": b'{"id":"%d","infons":{},"passages":[{"offset":0,"infons":{},"text":"Fever %s"}]}\n',
        "hpo_gsc": b"%d\nFever %s\n0\t5\tFever\tHP:0001945\n\n",
        "biosyn": b"%d||0|5||Disease||fever %s||D005334\n",
        "cometa": b"%d\tFever\tl\t1\tl\t1\tFever %s\n",
        "records": b'{"pmid":%d,"title":"Fever","abstract":"%s"}\n',
        "medline": b"PMID- %d\nTI  - Fever\nAB  - High\n      fever %s\n\n",
        "ris": b"TY  - JOUR\nID  - %d\nTI  - Fever\nAB  - High %s\nER  - \n",
        "askapatient": b"386661006\tFever\tfever %s\n",
    }[name]
    count = line.count(b"%d")
    rows = [line % (*[number] * min(count, 1), b"" if number != 2 else bad, *[number] * (count - 1)) for number in (1, 2, 3)]
    if name == "bigbio":
        rows = [row.replace(b"[[0,5]]", b"[[0,6]]") for row in rows]
    head = "\t".join(get("cometa").COLUMNS).encode() + b"\n" if name == "cometa" else b""  # type: ignore[attr-defined]
    return {f"a.{'txt' if name != 'jsonl' else name}": head + b"".join(rows)}


LINES = (
    "pubtator", "jsonl", "bigbio", "pubannotation", "label_studio", "doccano", "bioc_json", "hpo_gsc", "biosyn", "cometa",
    "askapatient", "records", "medline", "ris",
)  # fmt: skip
BAD_BYTES = {"encoding": (b"\xff", "input-encoding"), "nul": (b"\x00", "input-encoding"), "long": (b"x" * 400, "limit-line")}


# AskAPatient is in ISO-8859-1, where every byte is valid.
BAD_LINES = [(name, kind) for name in LINES for kind in BAD_BYTES if (name, kind) != ("askapatient", "encoding")]


@pytest.mark.parametrize(("name", "kind"), BAD_LINES)
def test_a_bad_line_loses_only_its_document(name: str, kind: str) -> None:
    bad, code = BAD_BYTES[kind]
    limits = Limits(document_bytes=300)
    files = [InputFile.from_bytes(key, data, limits) for key, data in documents_with_bad_one(name, bad).items()]
    items = list(get(name).read(Source.of_files("a", files)))
    assert [isinstance(item, Document) for item in items] == [True, False, True]
    problem = items[1]
    assert isinstance(problem, Problem)
    assert (problem.code, problem.document_id in ("", "2", "a.2")) == (code, True)
    assert "ever" not in problem.what + problem.where
