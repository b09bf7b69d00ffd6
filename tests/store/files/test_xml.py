"""Tests of reading XML record by record, and of rejecting dangerous constructs."""

from __future__ import annotations

from unittest.mock import patch
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.store.files import xml
from onym.store.files.source import InputFile
from onym.store.files.xml import iter_records
from onym.store.limits import Limits
from tests.store.answers import answer

TAGS = frozenset({"rec"})


def texts(data: bytes | str, **limits: int) -> list[str]:
    data = data.encode() if isinstance(data, str) else data
    file = InputFile.from_bytes("a.xml", data, Limits(**limits))
    return ["".join(map(str, record.itertext())) for record in iter_records(file, TAGS)]


LETTERS = st.text(st.characters(min_codepoint=32, blacklist_categories=["Cs", "Cc", "Cn"]), max_size=30)


@given(st.lists(LETTERS), st.integers(1, 50))
def test_records_do_not_depend_on_chunk_sizes(names: list[str], size: int) -> None:
    data = "<set>" + "".join(f"<rec>{escape(name)}</rec><other/>" for name in names) + "</set>"
    with patch.object(xml, "_READ", size):
        assert texts(data) == names


@pytest.mark.parametrize(
    "prolog",
    [
        "",
        "\ufeff",
        "\n ",
        "<?xml version='1.0'?>",
        '<?xml version="1.0" encoding="utf-8" standalone="yes" ?>\n<!-- <!ENTITY is only text here -->\n',
        '<?xml version="1.0"?><?style href="a.css"?>',
        '<!DOCTYPE set SYSTEM "set.dtd">',
        "<!DOCTYPE set PUBLIC '-//NLM//DTD x//EN' \"http://127.0.0.1:9/a[1].dtd\">",
        '<!DOCTYPE set SYSTEM "set.dtd" []>',
        "<!DOCTYPE set [ <!-- all of it --> <!ELEMENT set (rec)*> ] >",
    ],
)
def test_accepts_real_prologs(prolog: str) -> None:
    assert texts(f"{prolog}<set><rec>one</rec></set>") == ["one"]


def test_decodes_supported_encodings() -> None:
    for name in ("ISO-8859-1", "windows-1252", "latin1"):
        data = f'<?xml version="1.0" encoding="{name}"?><set><rec>caf\u00e9</rec></set>'.encode("latin-1")
        assert texts(data) == ["caf\u00e9"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-7", "cp037", "shift-jis"])
def test_rejects_other_encodings(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><set><rec>one</rec></set>'
    with pytest.raises(InputError, match="input-encoding"):
        texts(text.encode("ascii" if encoding == "utf-7" else encoding))


DECLARATIONS = ['<!ENTITY a "b">', "<!ENTITY % a 'b'> %a;", '<!ENTITY a SYSTEM "file:///etc/passwd">', "%a;",
                '<!ATTLIST rec a CDATA "b">', '<!NOTATION a SYSTEM "b">', '<!ELEMENT a (b)><!ENTITY a "b">']  # fmt: skip
BEFORE = ["", "<!-- <set> -->", "<?a <set> ?>", "<?xml version='1.0'?>"]


@pytest.mark.parametrize("declaration", DECLARATIONS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("outside", ["", 'SYSTEM "]><set>" ', "PUBLIC 'a' 'b' "])
def test_rejects_declarations(declaration: str, before: str, outside: str) -> None:
    with pytest.raises(InputError, match="xml-entity"):
        texts(f"{before}<!DOCTYPE set {outside}[{declaration}]><set><rec>one</rec></set>")


def test_rejects_entities_of_an_external_dtd() -> None:
    good = '<!DOCTYPE set SYSTEM "set.dtd"><set><rec>a &amp; &lt; &#65;<![CDATA[ &b; ]]></rec>'
    assert texts(good + "</set>") == ["a & < A &b; "]
    with pytest.raises(InputError, match="xml-entity"):
        texts(good + "<rec>a &b; c</rec></set>")


def test_nested_records_belong_to_the_outer_record() -> None:
    assert texts("<set><rec>a<rec>b</rec>c</rec><rec>d</rec></set>") == ["abc", "d"]


def test_processed_records_are_freed() -> None:
    file = InputFile.from_bytes("a.xml", b"<set>" + b"<x/><rec>one<y/></rec>" * 50 + b"</set>")
    left = []
    for record in iter_records(file, TAGS):
        left.append(len(list(record.itersiblings(preceding=True))))
    assert max(left) <= 2


@pytest.mark.parametrize(
    ("data", "limits"),
    [
        ("<set><rec>" + "x" * 5_000, {"xml_token_bytes": 1_000}),
        ('<set><rec a="' + "x" * 5_000 + '"/>', {"xml_token_bytes": 1_000}),
        ("<set><rec><!--" + "x" * 5_000, {"xml_token_bytes": 1_000}),
        ("<set><rec>" + "<a>x</a>" * 1_000, {"xml_record_bytes": 2_000}),
        ("<set>" + "<a>x</a>" * 1_000 + "</set>", {"xml_record_bytes": 2_000}),
        ("<set><rec>" + "<a/>" * 1_000 + "</rec></set>", {"xml_record_marks": 300}),
        ("<set><rec " + " ".join(f"a{n}=''" for n in range(1_000)) + "/></set>", {"xml_record_marks": 300}),
        ("<!--" + "x" * 200_000 + "--><set/>", {}),
        (" " * 200_000 + "<set/>", {}),
    ],
)
def test_rejects_records_beyond_the_limits(data: str, limits: dict[str, int]) -> None:
    with pytest.raises(LimitError, match="limit-xml"):
        texts(data, **limits)


def test_accepts_many_records_within_the_limits() -> None:
    record = "<rec>" + "<a b='c'>x</a>" * 20 + "</rec>"
    limits = {"xml_record_bytes": 400, "xml_record_marks": 100, "xml_token_bytes": 100}
    assert len(texts("<set>" + record * 200 + "</set>", **limits)) == 200


@pytest.mark.parametrize(("depth", "limits"), [(70, {}), (20, {"xml_depth": 10}), (5_000, {"xml_depth": 10_000})])
def test_deep_nesting_is_rejected(depth: int, limits: dict[str, int]) -> None:
    with pytest.raises(LimitError, match="limit-depth"):
        texts("<set><rec>" + "<a>" * depth + "</a>" * depth + "</rec></set>", **limits)


def test_accepts_nesting_within_the_limit() -> None:
    assert texts("<set><rec>" + "<a>" * 10 + "x" + "</a>" * 10 + "</rec></set>", xml_depth=10) == ["x"]


@pytest.mark.parametrize(
    "data", ["", "   ", "<set>", "<set><rec>one</set></rec>", "<set/><set/>", "text", "<set>&b;</set>", "<?xml?><set/>", "<1/>"]
)
def test_rejects_malformed_xml(data: str) -> None:
    with pytest.raises(InputError, match="xml-malformed"):
        texts(data)


@given(st.text(max_size=60))
def test_any_input_gives_records_or_an_error_without_its_text(data: str) -> None:
    for text in (f"<set><rec>secret{data}", f"<secret {data}", f"<?xml version='1.0'?>{data}<set><rec>secret</rec></set>"):
        said = answer(lambda text=text: texts(text.encode("utf-8", "surrogatepass")))  # type: ignore[misc]
        assert "secret" not in said
