"""Opening what a system is evaluated on."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.errors import ConfigError
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from tests.datasets.made import write_species


def test_a_dataset_with_a_dictionary_needs_no_knowledge_base(task: EvaluationTask) -> None:
    assert task.dataset.kb_folder
    assert task.kb.digest == KnowledgeBase.open(task.dataset.kb_folder).digest
    assert task.title == "ncbi-disease-biosyn (test)"
    assert task.source == {"name": "ncbi-disease-biosyn", "digest": task.dataset.digest, "split": "test"}


def test_one_without_needs_one(tmp_path: Path, tiny_kb: Path) -> None:
    prepare("s800", write_species(tmp_path), tmp_path / "s800")
    with pytest.raises(ConfigError, match="kb-needed"):
        EvaluationTask.open(str(tmp_path / "s800"))
    assert EvaluationTask.open(str(tmp_path / "s800"), kb=tiny_kb).kb.digest == KnowledgeBase.open(tiny_kb).digest
    kb = KnowledgeBase.open(tiny_kb)
    assert EvaluationTask.open(str(tmp_path / "s800"), kb=kb).kb is kb


def test_an_id_with_several_successors_is_left_out(task: EvaluationTask, tmp_path: Path) -> None:
    (tmp_path / "old.tsv").write_text("old\tnew\nmesh:D1\tmesh:D2\nmesh:D3\tmesh:D4\nmesh:D3\tmesh:D5\n")
    evaluation_task = EvaluationTask.open(str(task.dataset.folder), replaced=tmp_path / "old.tsv")
    assert evaluation_task.replaced == {"mesh:D1": "mesh:D2"}
    assert evaluation_task.resolver.canonical("mesh:D1") == "mesh:D2"


def test_predictions_of_another_knowledge_base_are_refused(task: EvaluationTask) -> None:
    task.require_same_kb({})
    task.require_same_kb({"kb": {"digest": task.kb.digest}})
    with pytest.raises(ConfigError, match="kb-mismatch"):
        task.require_same_kb({"kb": {"digest": "0"}})


def test_what_the_preparation_dropped(task: EvaluationTask) -> None:
    assert task.drop_counts == {"dropped by the preparation: no id": 1}
