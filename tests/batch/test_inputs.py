"""Inputs of a plan, opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.batch.inputs import found_groups, open_group, require_unchanged
from onym.errors import InputError


def test_a_range_of_a_file_is_read_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"id": "{number}", "text": "fever"}}\n' for number in range(10)))
    groups, aside = found_groups([path], "", 100)
    assert aside == []
    assert len(groups) == 3
    data = b"".join(open_group(group).files[0].head(1000) for group in groups)
    assert data == path.read_bytes()
    for group in groups:
        require_unchanged(group, open_group(group).files)


def test_what_has_changed_or_gone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("fever")
    (group,), _ = found_groups([path], "", 100)
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


def test_a_packed_file_is_not_cut(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1", "text": "fever"}\n' * 1000))
    groups, _ = found_groups([tmp_path / "a.jsonl.gz"], "", 10)
    assert [group.files[0].start for group in groups] == [None]
