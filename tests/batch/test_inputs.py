"""Tests that the ranges of a plan's input files contain every document once, and that changed files are rejected."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from onym.batch.inputs import GroupReading, find_groups, open_group, require_unchanged
from onym.corpora.base import Item
from onym.corpora.reading import Reading
from onym.errors import InputError
from onym.store.files.source import Source
from tests.batch.runs import pubmed_at


def test_byte_ranges_cover_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"id": "{number}", "text": "fever"}}\n' for number in range(10)))
    groups, aside = find_groups([path], "", 100, 5_000)
    assert aside == []
    assert len(groups) == 3
    data = b"".join(open_group(group).files[0].head(1000) for group in groups)
    assert data == path.read_bytes()
    for group in groups:
        require_unchanged(group, open_group(group).files)


def test_rejects_changed_or_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("fever")
    (group,), _ = find_groups([path], "", 100, 5_000)
    path.write_text("cough")
    with pytest.raises(InputError) as caught:
        require_unchanged(group, open_group(group).files)
    assert caught.value.code == "batch-input-changed"
    path.unlink()
    with pytest.raises(InputError):
        require_unchanged(group, open_group(group).files)
    missing = group.model_copy(update={"files": (group.files[0].model_copy(update={"member": "b.txt"}),)})
    with pytest.raises(InputError):
        open_group(missing)


def test_compressed_file_is_not_split_by_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1", "text": "fever"}\n' * 1000))
    groups, _ = find_groups([tmp_path / "a.jsonl.gz"], "", 10, 5_000)
    assert [group.files[0].start for group in groups] == [None]


def ranges(path: Path, documents: int) -> list[tuple[int | None, int | None]]:
    groups, _ = find_groups([path], "", 8, documents)
    return [(group.files[0].first, group.files[0].documents) for group in groups]


def read_ranges(path: Path, documents: int) -> list[Item]:
    groups, _ = find_groups([path], "", 8, documents)
    assert len(groups) > 1
    return [item for group in groups for item in GroupReading(group)]


def test_compressed_file_is_split_by_documents(tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 10)
    assert ranges(path, 4) == [(1, 3), (4, 3), (7, 4)]
    assert ranges(path, 10) == [(None, None)]


@pytest.mark.parametrize("documents", [1, 2, 3, 7])
def test_ranges_contain_every_document_problem_and_deletion_once(tmp_path: Path, documents: int) -> None:
    path = pubmed_at(tmp_path, 10, malformed=(3, 7), deleted=("1", "2"))
    whole = list(Reading([Source.open(path)]))
    assert len(whole) == 12
    assert read_ranges(path, documents) == whole


@pytest.mark.parametrize("documents", [1, 3])
def test_ranges_of_documents_with_invalid_mentions(tmp_path: Path, documents: int) -> None:
    path = tmp_path / "a.pubtator"
    path.write_text(
        "".join(f"{n}|t|High fever\n{n}|a|\n{n}\t5\t{90 if n % 2 else 10}\tfever\tDisease\tD1\n\n" for n in range(6))
    )
    assert read_ranges(path, documents) == list(Reading([Source.open(path)]))


def test_truncated_file_fails_once(tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 2_000)
    path.write_bytes(path.read_bytes()[:-200])
    whole = list(Reading([Source.open(path)]))
    assert whole[-1].ordinal == 0
    assert read_ranges(path, 700) == whole


def test_range_sizes_sum_to_file_size(tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 10)
    groups, _ = find_groups([path], "", 8, 3)
    assert sum(group.bytes for group in groups) == path.stat().st_size


def test_small_part_of_all_input_is_not_split(tmp_path: Path) -> None:
    for number in range(20):
        pubmed_at(tmp_path, 10, name=f"{number}.xml.gz")
    groups, _ = find_groups([tmp_path], "", 8, 3)
    assert {group.files[0].first for group in groups} == {None}


def test_rejects_range_of_changed_file(tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 10)
    groups, _ = find_groups([path], "", 8, 3)
    pubmed_at(tmp_path, 11)
    for group in groups:
        with pytest.raises(InputError, match="batch-input-changed"):
            list(GroupReading(group))


def test_deleted_open_file_can_be_read_to_the_end(tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 10)
    groups, _ = find_groups([path], "", 8, 3)
    reading = iter(GroupReading(groups[0]))
    next(reading)
    path.unlink()  # on Linux, a deleted file can still be read while it is open
    assert len(list(reading)) == 1
