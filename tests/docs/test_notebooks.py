"""Tests that the notebooks run from the first cell to the last."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("ONYM_DATA", str(real_data))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    if path.stem == "first-steps":
        assert "<mark" in json.dumps(outputs)


def test_notebooks_are_stored_without_outputs() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-steps", "train-and-compare"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)


def test_without_corpus_the_notebook_names_the_variable_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ONYM_DATA", raising=False)
    cells = json.loads((FOLDER / "train-and-compare.ipynb").read_text())["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    names: dict[str, Any] = {}
    with pytest.raises(RuntimeError, match="%env ONYM_DATA=FOLDER"):
        exec(first, names)
    with pytest.raises(RuntimeError, match=r"(?s)onym kb info nowhere.*\[.+\].*try"):
        names["run"]("kb", "info", "nowhere")
