"""Tests of pickling pipelines: what is sent is a reference to the folder, and what differs from it."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from copy import copy, deepcopy
from pathlib import Path

import pytest

from onym.corrections import Corrections, Rule
from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.packs.build import build_pack
from onym.packs.locate import load
from onym.pipeline import Pipeline, PipelineOptions, build_pipeline
from onym.pipeline.config import FILE
from onym.pipeline.folder import store_calibration
from onym.types import Document, LinkedDocument, Mention
from tests.packs.made import LICENCES, write_pack, write_pipeline
from tests.pipeline.calibrated import fit_calibration

TEXTS: list[str | Document] = [
    "High fever, no heart attack. MI (myocardial infarction) with hypertension.",
    "Breast tumours and renal insufficiency",
    Document("a", "hart attack", (Mention(0, 11, "hart attack"),)),
]


def link(pipeline: Pipeline) -> tuple[list[LinkedDocument], str]:
    return list(pipeline.link_many(TEXTS)), json.dumps(pipeline.source())


def send(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline as another process gets it."""
    found: Pipeline = pickle.loads(pickle.dumps(pipeline))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> Path:
    """Return the folder of a calibrated pipeline."""
    folder = tmp_path_factory.mktemp("pickled") / "p"
    build_pipeline(tiny_kb, folder, linker="tfidf")
    store_calibration(folder, fit_calibration())
    return folder


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> Path:
    return write_pack(tmp_path_factory.mktemp("pack"), tiny_kb)


def variants_of(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Yield copies of a calibrated pipeline that differ from its folder."""
    yield pipeline
    yield pipeline.with_options(PipelineOptions(threshold=0.5, top_k=2, expand_abbreviations=False, assertion=False))
    yield pipeline.with_filter(types=["C14"])
    yield pipeline.with_filter(types=["C14"], restrict=True).with_precision(0.9)
    yield pipeline.with_corrections(Corrections([Rule("fever", "mesh:D006973", line=2)], pipeline.kb)).with_coverage(0.9)
    yield pipeline.for_terms()
    yield pipeline.without_detector()


def test_a_sent_pipeline_gives_equal_answers(folder: Path) -> None:
    answers = []
    for pipeline in variants_of(load(folder)):
        sent = send(pipeline)
        assert sent is not pipeline
        assert (sent.options, sent.source()) == (pipeline.options, pipeline.source())
        answers.append(link(pipeline))
        assert link(sent) == answers[-1]
        assert link(send(sent)) == answers[-1]
    assert len({source for _, source in answers}) == len(answers)


def test_sent_corrections_explain_themselves(folder: Path) -> None:
    pipeline = load(folder).with_corrections(Corrections([Rule("fever", "mesh:D006973", line=2)], load(folder).kb))
    for each in (pipeline, send(pipeline)):
        assert each.explain("fever")[0].correction == "a correction (always, line 2 of the corrections)"


def test_few_bytes_are_sent_and_the_folder_is_opened_once(folder: Path) -> None:
    pipeline = load(folder)
    assert len(pickle.dumps(pipeline)) < 20_000
    first, second = send(pipeline), send(pipeline.with_threshold(0.5))
    assert first.linker is second.linker
    assert first.kb is second.kb


@pytest.mark.slow
@pytest.mark.ci
def test_pipelines_sent_to_a_spawned_process(folder: Path, pack: Path) -> None:
    pipelines = [*variants_of(load(folder)), load("starter"), load(pack), load("starter").with_precision(0.95)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(link, pipelines)) == list(map(link, pipelines))


def test_packs_and_names_can_be_sent(pack: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pipelines = [load(pack), load("starter"), load(pack, prefer=("mesh",))]
    monkeypatch.chdir(tmp_path)  # a path is sent as an absolute one
    for pipeline in pipelines:
        assert link(send(pipeline)) == link(pipeline)


def test_a_relative_folder_can_be_sent(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(folder.parent)
    pipeline = load(folder.name)
    monkeypatch.chdir(tmp_path)
    assert link(send(pipeline)) == link(pipeline)


def test_a_pipeline_that_was_just_built_can_be_sent(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline = build_pipeline(tiny_kb, tmp_path / "p", options=PipelineOptions(top_k=2))
    assert link(send(pipeline)) == link(pipeline)


def test_copies_share_what_was_opened(folder: Path) -> None:
    pipeline = load(folder)
    assert deepcopy(pipeline) is pipeline
    assert deepcopy({"pipeline": pipeline})["pipeline"] is pipeline
    copied = copy(pipeline)
    assert copied is not pipeline
    assert copied.linker is pipeline.linker
    assert link(copied) == link(pipeline)


def test_a_pipeline_in_memory_cannot_be_sent(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    with pytest.raises(ConfigError, match="made in memory") as caught:
        pickle.dumps(pipeline)
    assert caught.value.code == "pipeline-in-memory"
    assert deepcopy(pipeline) is pipeline


@pytest.mark.parametrize("is_pack", [False, True])
def test_a_folder_that_changed_after_pickling_is_rejected(tiny_kb: Path, tmp_path: Path, pack: Path, is_pack: bool) -> None:
    if is_pack:
        path = Path(shutil.copy(pack, tmp_path / "own.onymp"))
    else:
        path = tmp_path / "p"
        build_pipeline(tiny_kb, path)
    sent = pickle.dumps(load(path))
    if is_pack:
        other = write_pipeline(tmp_path / "other", tiny_kb, options=PipelineOptions(threshold=0.5))
        build_pack(other, path, licences=LICENCES, force=True)
    else:
        values = json.loads((path / FILE).read_text())
        (path / FILE).write_text(json.dumps(values | {"threshold": 0.5}))
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        pickle.loads(sent)


def test_a_pipeline_of_removed_files_is_missing(tiny_kb: Path, tmp_path: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "p")
    sent = pickle.dumps(load(tmp_path / "p"))
    shutil.rmtree(tmp_path / "p")
    with pytest.raises(InputError, match="pipeline-missing"):
        pickle.loads(sent)
