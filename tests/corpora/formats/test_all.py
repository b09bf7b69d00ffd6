"""What every format must do, whatever it is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.corpora.base import ALL, Format
from onym.corpora.formats import ORDER as FORMATS
from onym.corpora.formats import READ_ONLY, get
from onym.errors import OnymError
from onym.store.files.source import InputFile, Source
from onym.testing.documents import assert_preserved, documents, lists_of_mentions, trip, written
from onym.types import Document, Mention, Passage, Problem, Relation

# Formats of single mentions: a document of several becomes several.
OF_MENTIONS = {"genbioel", "biosyn", "cometa", "askapatient"}
WHOLE = [name for name in FORMATS if name not in OF_MENTIONS | set(READ_ONLY)]


@pytest.fixture(params=WHOLE)
def form(request: pytest.FixtureRequest) -> Format:
    return get(request.param)


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=60)
@given(document=documents())
def test_what_is_preserved_comes_back(name: str, document: Document) -> None:
    assert_preserved(get(name), document)


@pytest.mark.parametrize("name", sorted(OF_MENTIONS))
@settings(max_examples=100)
@given(document=documents() | lists_of_mentions())
def test_what_is_preserved_of_mentions_comes_back(name: str, document: Document) -> None:
    if get(name).preserved_facets(document):
        assert_preserved(get(name), document)
    else:
        trip(get(name), [document])


@pytest.mark.parametrize("name", FORMATS)
def test_facets_are_known_ones(name: str) -> None:
    assert get(name).HOLDS <= ALL


def test_nothing_is_written_and_read_as_nothing(form: Format) -> None:
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


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in READ_ONLY])
@settings(max_examples=80)
@given(data=st.data())
def test_damaged_files_give_problems_or_errors_of_ours(name: str, data: st.DataObject) -> None:
    files = dict(written(get(name), [DOCUMENT, Document("2", "fever", (Mention(0, 5, "fever"),))]))
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


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_looked_at_without_a_crash(name: str, data: bytes) -> None:
    source = Source.of_files("a", [InputFile.from_bytes("a.txt", data)])
    with suppress(OnymError):
        get(name).matches(source)
    with suppress(OnymError):
        list(get(name).read(source))
