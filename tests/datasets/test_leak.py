"""What train gives away."""

from __future__ import annotations

from onym.datasets.leak import Leaks, Shared, pair_of, place_of
from onym.types import Document, Mention

IDS = ("mesh:D005334",)


def doc(document_id: str, surface: str = "fever", ids: tuple[str, ...] = IDS) -> Document:
    return Document(document_id, surface, (Mention(0, len(surface), surface, ids),))


def test_by_place_and_by_pair() -> None:
    leaks = Leaks()
    leaks.take("train", doc("1"))
    for other in (doc("1"), doc("1", "Fever!"), doc("2", "FEVER"), doc("2", ids=("mesh:D000000",))):
        leaks.take("test", other)
    assert leaks.shared == {"test": Shared(mentions=4, by_place=1, by_pair=3)}


def test_without_train_there_is_nothing_to_say() -> None:
    leaks = Leaks()
    leaks.take("test", doc("1"))
    assert leaks.shared == {}


def test_the_place_is_that_of_the_corpus() -> None:
    mention = Mention(0, 5, "fever", notes=(("offsets", "12|20"),))
    assert place_of(Document("7.2", "fever", notes=(("document", "7"),)), mention) == ("7", "12|20")
    assert place_of(Document("7", "fever"), Mention(0, 5, "fever")) == ("7", "0|5")


def test_the_order_of_ids_does_not_matter() -> None:
    assert pair_of(doc("1", "A-b", ("x:1", "x:2")).mentions[0]) == pair_of(doc("1", "a  b", ("x:2", "x:1")).mentions[0])
