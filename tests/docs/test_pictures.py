"""The picture of the README is small, and the page that it is taken of has what it shows."""

from __future__ import annotations

from docs.pictures import PICTURE, TEXT, page
from tests.test_views import read


def test_the_picture_is_small() -> None:
    picture = PICTURE.read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000


def test_the_page_has_the_text_and_the_reasons_of_the_second_mark() -> None:
    marks = read(page())
    assert TEXT in marks.text
    assert (marks.titles[1] or "").startswith("'T2DM' stands for 'type 2 diabetes mellitus' in this document\n")
    assert "script" not in marks.tags
