"""Folders for a while."""

from __future__ import annotations

import pytest

from onym.store.hidden import scratch_folder


def test_it_is_there_until_the_block_ends_also_by_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended"), scratch_folder() as folder:  # noqa: PT012
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("a")
        raise RuntimeError("ended")
    assert not folder.exists()
