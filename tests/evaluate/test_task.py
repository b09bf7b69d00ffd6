"""Tests of evaluation tasks: their default knowledge base, replaced ids and dropped mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.errors import ConfigError
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from tests.datasets.made import write_species


def test_dictionary_of_dataset_is_default_kb(task: EvaluationTask) -> None:
    assert task.dataset.kb_folder
    assert task.kb.digest == KnowledgeBase.open(task.dataset.kb_folder).digest
    assert task.title == "ncbi-disease-biosyn (test)"
    assert task.source == {"name": "ncbi-disease-biosyn", "digest": task.dataset.digest, "split": "test"}


def test_dataset_without_dictionary_needs_kb(tmp_path: Path, tiny_kb: Path) -> None:
    prepare("s800", write_species(tmp_path), tmp_path / "s800")
    with pytest.raises(ConfigError, match="kb-needed"):
        EvaluationTask.open(str(tmp_path / "s800"))
    assert EvaluationTask.open(str(tmp_path / "s800"), kb=tiny_kb).kb.digest == KnowledgeBase.open(tiny_kb).digest
    kb = KnowledgeBase.open(tiny_kb)
    assert EvaluationTask.open(str(tmp_path / "s800"), kb=kb).kb is kb


def test_ambiguous_replacements_are_skipped(task: EvaluationTask, tmp_path: Path) -> None:
    (tmp_path / "old.tsv").write_text("old\tnew\nmesh:D1\tmesh:D2\nmesh:D3\tmesh:D4\nmesh:D3\tmesh:D5\n")
    evaluation_task = EvaluationTask.open(str(task.dataset.folder), replaced=tmp_path / "old.tsv")
    assert evaluation_task.replaced == {"mesh:D1": "mesh:D2"}
    assert evaluation_task.resolver.canonical("mesh:D1") == "mesh:D2"


def test_rejects_predictions_of_other_kb(task: EvaluationTask) -> None:
    task.require_same_kb({})
    task.require_same_kb({"kb": {"digest": task.kb.digest}})
    with pytest.raises(ConfigError, match="kb-mismatch"):
        task.require_same_kb({"kb": {"digest": "0"}})


def test_dropped_mentions_are_counted(task: EvaluationTask) -> None:
    assert task.drop_counts == {"dropped by the preparation: no id": 1}
