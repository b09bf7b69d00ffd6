"""Tests that temporary folders are removed, even after an error."""

from __future__ import annotations

import pytest

from onym.store.hidden import scratch_folder


def test_scratch_folder_is_removed_even_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended"), scratch_folder() as folder:  # noqa: PT012
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("a")
        raise RuntimeError("ended")
    assert not folder.exists()
