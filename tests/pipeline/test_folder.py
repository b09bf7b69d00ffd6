"""Tests of pipeline folders: writing, opening, moving, and detecting changes."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import onym
from onym.errors import ConfigError, InputError, IntegrityError, OnymError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods import detector_config, linker_config
from onym.packs.locate import load, read_pipeline
from onym.pipeline import pipeline as pipeline_module
from onym.pipeline.config import FILE, PipelineOptions
from onym.pipeline.folder import build_pipeline, describe, store_calibration
from onym.types import Document
from tests.pipeline.calibrated import fit_calibration
from tests.support.models import save_model, save_tokenizer


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path) -> Path:
    return shutil.copytree(tiny_kb, tmp_path / "kb")


def test_loads_built_pipeline(tmp_path: Path, kb: Path) -> None:
    detector = detector_config("dictionary", nested=True)
    built = build_pipeline(
        kb,
        tmp_path / "p",
        detector=detector,
        options=PipelineOptions(
            types=("C14",), concepts=("mesh:D009203",), threshold=0.5, top_k=3, prefer=("mesh",), assertion=False
        ),
    )
    loaded = load(tmp_path / "p")
    assert loaded.config == built.config
    (link,) = loaded.link("fever, no heart attack").links
    assert (link.concept_id, link.assertion) == ("mesh:D009203", None)
    config = read_pipeline(tmp_path / "p")
    assert config.kb.path == kb.resolve().as_posix()
    assert config.kb.digest == loaded.kb.digest
    assert (config.format, config.threshold, config.top_k) == (3, 0.5, 3)
    assert (config.detector, config.types, config.concepts) == (detector, ("C14",), ("mesh:D009203",))
    assert config.prefer == ("mesh",)
    assert not config.assertion
    assert {("prefer", "mesh"), ("assertion", "no")} <= set(describe(config))


OPTIONS: dict[str, Any] = {
    "types": ("C14",),
    "concepts": ("mesh:D009203",),
    "under": ("mesh:D009369",),
    "not_under": ("mesh:D009369",),
    "mapped": True,
    "restrict": True,
    "prefer": ("mesh",),
    "threshold": 0.5,
    "top_k": 3,
    "expand_abbreviations": False,
    "assertion": False,
}
CALIBRATED = {"precision": 0.9, "coverage": 0.9}
"""Options that a pipeline can have only once it is calibrated."""


@pytest.mark.parametrize("name", [name for name in PipelineOptions.model_fields if name not in CALIBRATED])
def test_each_option_round_trips_and_is_described(tmp_path: Path, kb: Path, branch_kb: Path, name: str) -> None:
    kb = branch_kb if "under" in name else kb
    build_pipeline(kb, tmp_path / "p", options=PipelineOptions.of({name: OPTIONS[name]}))
    written = json.loads((tmp_path / "p" / "pipeline.json").read_text())
    assert written[name] == (list(OPTIONS[name]) if isinstance(OPTIONS[name], tuple) else OPTIONS[name])
    assert load(tmp_path / "p").options.non_default_options() == {name: OPTIONS[name]}
    assert name in dict(describe(read_pipeline(tmp_path / "p")))
    assert PipelineOptions.model_fields[name].description


@pytest.mark.parametrize("name", CALIBRATED)
def test_an_option_for_calibrated_pipelines_is_stored_with_the_calibration(tmp_path: Path, kb: Path, name: str) -> None:
    option = {name: CALIBRATED[name]}
    with pytest.raises(ConfigError, match="pipeline-uncalibrated"):
        build_pipeline(kb, tmp_path / "p", options=PipelineOptions.of(option))
    assert not (tmp_path / "p").exists()
    build_pipeline(kb, tmp_path / "p")
    store_calibration(tmp_path / "p", fit_calibration())
    assert name not in json.loads((tmp_path / "p" / FILE).read_text())
    (tmp_path / "p" / FILE).write_text(json.dumps(json.loads((tmp_path / "p" / FILE).read_text()) | option))
    assert load(tmp_path / "p").options.non_default_options() == option
    assert dict(describe(read_pipeline(tmp_path / "p")))[name] == str(CALIBRATED[name])


def test_a_longer_name_outside_the_branch_wins_unless_restricted(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("id\tname\tparents\nx:1\tnerves\t\nx:2\tdyskinesia\tx:1\nx:3\tbiliary dyskinesia\t\n")
    build_kb(Recipe.of({"sources": [{"path": "x.tsv"}]}), tmp_path / "kb", root=tmp_path)
    found = {}
    for restrict in (False, True):
        options = PipelineOptions(under=("x:1",), restrict=restrict)
        pipeline = build_pipeline(tmp_path / "kb", tmp_path / "p", options=options, force=True)
        links = pipeline.link("Biliary dyskinesia, no dyskinesia.").links
        found[restrict] = [(link.mention.surface, link.concept_id) for link in links]
    assert found[False] == [("Biliary dyskinesia", None), ("dyskinesia", "x:2")]
    assert found[True] == [("dyskinesia", "x:2"), ("dyskinesia", "x:2")]


def test_an_unused_branch_filter_is_not_stored(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    assert not {"under", "not_under", "mapped"} & json.loads((tmp_path / "p" / "pipeline.json").read_text()).keys()


def test_rejects_invalid_options(tmp_path: Path, kb: Path) -> None:
    mistakes: list[dict[str, Any]] = [{"colour": "red"}, {"top_k": 0}, {"types": "C14"}, {"plug_ins": ()}]
    for wrong in mistakes:
        with pytest.raises(ConfigError, match="config-invalid"):
            build_pipeline(kb, tmp_path / "p", options=PipelineOptions.of(wrong))
    assert not (tmp_path / "p").exists()


def test_assertion_defaults_to_on(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    values = json.loads((tmp_path / "p" / "pipeline.json").read_text())
    del values["assertion"]
    (tmp_path / "p" / "pipeline.json").write_text(json.dumps(values))
    assert load(tmp_path / "p").link("No fever").links[0].assertion == ("negated",)


def test_self_contained_folder_can_be_moved(tmp_path: Path, tiny_kb: Path) -> None:
    folder = tmp_path / "whole"
    shutil.copytree(tiny_kb, folder / "kb")
    build_pipeline(folder / "kb", folder)
    assert read_pipeline(folder).kb.path == "kb"
    moved = folder.rename(tmp_path / "moved")
    assert load(moved).link("fever").links[0].concept_id == "mesh:D005334"


def test_does_not_overwrite_without_force(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    with pytest.raises(ConfigError, match="output-exists"):
        build_pipeline(kb, tmp_path / "p", linker="tfidf")
    build_pipeline(kb, tmp_path / "p", linker="tfidf", force=True)
    assert read_pipeline(tmp_path / "p").linker.kind == "tfidf"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"linker": "oracle"}, "part-unknown"),
        ({"detector": "oracle"}, "part-unknown"),
        ({"linker": "generative"}, "model-missing"),
        ({"linker": linker_config("generative", model="nowhere")}, "model-missing"),
        ({"detector": "model"}, "model-missing"),
        ({"options": PipelineOptions(types=("C99",))}, "filter-unknown"),
        ({"options": PipelineOptions(prefer=("umls",))}, "vocabulary-unknown"),
        ({"components": ["oracle"]}, "part-unknown"),
    ],
)
def test_writes_nothing_if_pipeline_cannot_be_opened(tmp_path: Path, kb: Path, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        build_pipeline(kb, tmp_path / "p", **options)
    assert not (tmp_path / "p").exists()


def test_rejects_changed_knowledge_base(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    (tmp_path / "t.tsv").write_text("id\tname\nmesh:D005334\tFever\n")
    build_kb(Recipe.of({"sources": [{"path": "t.tsv"}]}), kb, root=tmp_path)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


def test_rejects_changed_or_missing_model(tmp_path: Path, kb: Path) -> None:
    model = save_model(tmp_path / "model")
    linker = linker_config("generative", model=model, width=3, search="exact")
    build_pipeline(kb, tmp_path / "p", linker=linker, detector=None)
    search = load(tmp_path / "p").config["linker"]["search"]
    assert (search["search"], search["width"]) == ("exact", 3)
    (model / "onym.json").write_text("{}")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")
    shutil.rmtree(model)
    with pytest.raises(InputError, match="pipeline-missing"):
        load(tmp_path / "p")


def test_tokenizer_digest_covers_only_tokenizer_files(tmp_path: Path, kb: Path) -> None:
    model, tokens = save_model(tmp_path / "model", has_tokenizer=False), save_tokenizer(tmp_path / "tokens")
    build_pipeline(kb, tmp_path / "p", linker=linker_config("generative", model=model, tokenizer=tokens), detector=None)
    (tmp_path / "tokens" / "config.json").write_text("{}")
    load(tmp_path / "p")
    save_tokenizer(tmp_path / "tokens", more=1)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


@pytest.fixture
def dense(tmp_path: Path, kb: Path) -> Path:
    """Return an encoder's folder in the format of sentence-transformers, and build a pipeline with it."""
    pytest.importorskip("faiss")
    from tests.models.test_modules import save_modules
    from tests.support.models import save_encoder

    model = save_modules(
        save_encoder(tmp_path / "model"),
        config_sentence_transformers={"similarity_fn_name": "cosine"},
        special_tokens_map={},
        tokenizer_config={},
    )
    (model / "README.md").write_text("A model.")
    (model / "vocab.txt").write_text("fever")
    build_pipeline(kb, tmp_path / "p", detector=None, linker=linker_config("dense", model=str(model)))
    return model


def test_rejects_change_of_any_model_file(tmp_path: Path, dense: Path) -> None:
    paths = [path for path in dense.rglob("*") if path.is_file() and path.suffix != ".md"]
    names = {path.relative_to(dense).as_posix() for path in paths}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "modules.json", "1_Pooling/config.json"}
    for path in paths:
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(IntegrityError, match="pipeline-changed"):
            load(tmp_path / "p")
        path.write_bytes(data)
    (dense / "README.md").write_text("Another page.")
    load(tmp_path / "p")


def test_loading_opens_each_artefact_once_and_hashes_each_file_once(
    tmp_path: Path, dense: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onym.store import cache as digests
    from onym.store.artefact import Artefact

    seen: Counter[Path] = Counter()
    hash_file, open_version = digests.hash_file, Artefact._open.__func__  # type: ignore[attr-defined]

    def count_hash(path: Path) -> str:
        seen[path] += 1
        return hash_file(path)

    def count_open(cls: type[Artefact], folder: Path, *more: Any) -> Any:
        seen[folder] += 1
        return open_version(cls, folder, *more)

    monkeypatch.setattr(digests, "_known", {})
    monkeypatch.setattr(digests, "_SETTLED", 0)  # accept cached digests even of files that were just written
    monkeypatch.setattr(digests, "hash_file", count_hash)
    monkeypatch.setattr(Artefact, "_open", classmethod(count_open))
    load(tmp_path / "p")
    assert {path.name for path in seen} >= {"model.safetensors", "tokenizer.json", "config.json"}
    assert len([path for path in seen if path.is_dir()]) == 2, "the knowledge base and the index"
    assert set(seen.values()) == {1}


def test_error_if_folder_has_no_pipeline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pipeline-missing"):
        load(tmp_path)


def build_and_change(folder: Path, kb: Path, change: dict[str, object]) -> Path:
    """Build a pipeline, and change values in its file."""
    build_pipeline(kb, folder)
    path = folder / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    return folder


@pytest.mark.parametrize(
    "change",
    [
        {"colour": 1},
        {"linker": {"kind": "oracle"}},
        {"linker": {"kind": "builtins.eval"}},
        {"linker": {"kind": "onym.methods.exact"}},
        {"linker": {"kind": "exact", "colour": 1}},
        {"detector": {"kind": "os.system"}},
        {"detector": {"kind": "model", "threshold": 2.0}},
        {"kb": {"path": 3}},
        {"threshold": float("nan")},
    ],
)
def test_rejects_invalid_values(tmp_path: Path, kb: Path, change: dict[str, object]) -> None:
    folder = build_and_change(tmp_path / "p", kb, change)
    with pytest.raises(InputError, match="pipeline-malformed") as caught:
        load(folder)
    assert caught.value.where == str(folder / FILE)


@pytest.mark.parametrize("text", ["{", "", "[]", "3", "null", "[" * 100_000, '{"format": 3}', "\xff"])
def test_rejects_malformed_file(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="pipeline-malformed"):
        load(tmp_path)


@pytest.mark.parametrize("version", [1, 2, "3", None])
def test_rejects_other_formats(tmp_path: Path, kb: Path, version: object) -> None:
    with pytest.raises(IntegrityError, match="pipeline-version") as caught:
        load(build_and_change(tmp_path / "p", kb, {"format": version}))
    assert (caught.value.fix or "").startswith("make it anew with the same options")


SOUNDEX = {"kind": "linker", "name": "soundex", "package": "onym-soundex", "version": "1.0"}


def test_missing_plug_in_error_names_the_package(tmp_path: Path, kb: Path) -> None:
    folder = build_and_change(tmp_path / "p", kb, {"plug_ins": [SOUNDEX], "linker": {"kind": "soundex", "letters": 4}})
    with pytest.raises(IntegrityError, match="plug-in-missing") as caught:
        load(folder)
    assert caught.value.fix == "pip install onym-soundex==1.0"


@pytest.mark.parametrize("plug_ins", [[{"kind": "linker"}], ["soundex"], 5, "soundex", {"a": 1}])
def test_rejects_malformed_plug_ins(tmp_path: Path, kb: Path, plug_ins: object) -> None:
    with pytest.raises(OnymError) as caught:
        load(build_and_change(tmp_path / "p", kb, {"plug_ins": plug_ins}))
    assert caught.value.code in ("pipeline-malformed", "config-invalid")


def test_describes_non_default_options(tmp_path: Path, kb: Path) -> None:
    from tests.support.models import save_encoder

    encoder = save_encoder(tmp_path / "tiny-bert")
    linker = linker_config("cascade", encoder=encoder, index="flat", candidates=7)
    detector = detector_config("dictionary", min_length=2)
    build_pipeline(kb, tmp_path / "p", linker=linker, detector=detector, options=PipelineOptions(threshold=0.0))
    config = read_pipeline(tmp_path / "p")
    rows = dict(describe(config))
    assert (rows["linker"], rows["detector"], rows["detector min_length"]) == ("cascade", "dictionary", "2")
    assert (rows["threshold"], rows["candidates"]) == ("0.0", "7")
    assert str(encoder.resolve()) in " ".join(rows.values())
    assert "names" not in rows


def test_loads_without_torch(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    assert onym.load(tmp_path / "p").link("fever").links[0].concept_id == "mesh:D005334"
    code = "import sys, onym; onym.load(sys.argv[1]).link('fever'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "p")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_trained_detector_and_linker_share_one_pass(tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onym.methods.collective.torch_documents import TorchDocumentReader
    from tests.support.models import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0)
    linker, detector = linker_config("collective", model=model), detector_config("model", model=model)
    build_pipeline(kb, tmp_path / "p", linker=linker, detector=detector)
    pipeline = load(tmp_path / "p")
    text_counts: list[int] = []
    own = TorchDocumentReader._encode

    def encode(self: TorchDocumentReader, texts: Any) -> Any:
        text_counts.append(len(texts))
        return own(self, texts)

    monkeypatch.setattr(TorchDocumentReader, "_encode", encode)
    linked = pipeline.link("A heart attack, then fever.")
    assert linked.links
    assert all(link.candidates for link in linked.links)
    assert sum(text_counts) == 1
    assert pipeline.config["detector"]["detector"] == "spans"
    assert pipeline.config["linker"]["linker"] == "collective"
    (model / "names" / "config.json").write_text("{}")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


def _alive(references: Iterable[weakref.ref[Any]]) -> int:
    gc.collect()  # also frees objects in reference cycles
    return sum(each() is not None for each in references)


@pytest.mark.parametrize("linker", ["collective", "tfidf"])
def test_readings_are_freed_after_their_batch(tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, linker: str) -> None:
    from onym.methods.collective import documents
    from onym.methods.collective.torch_documents import TorchDocumentReader
    from tests.support.models import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0)
    options = {"model": model} if linker == "collective" else {}
    detector = detector_config("model", model=model)
    pipeline = build_pipeline(kb, tmp_path / "p", linker=linker_config(linker, **options), detector=detector)
    monkeypatch.setattr(pipeline_module, "_BATCH", 4)
    monkeypatch.setattr(pipeline_module, "_TERM", 0)
    monkeypatch.setattr(documents, "_TOGETHER", 40)
    readings: list[weakref.ref[Any]] = []
    own = TorchDocumentReader._encode

    def encode(self: TorchDocumentReader, texts: Any) -> Any:
        read = own(self, texts)
        readings.extend(map(weakref.ref, read))
        assert _alive(readings) <= 5  # and the last one of the batch before
        return read

    monkeypatch.setattr(TorchDocumentReader, "_encode", encode)
    docs = [Document(str(number), "A heart attack, then fever. " * (1 + number)) for number in range(10)]
    for doc, linked in zip(docs, pipeline.link_many(docs), strict=True):
        assert linked.document.text == doc.text
        assert 0 < _alive(readings) <= 4
    assert len(readings) == len(docs)


def test_trained_detector_with_another_linker(tmp_path: Path, kb: Path) -> None:
    from tests.support.models import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0, links=False, detect="tags")
    pipeline = build_pipeline(kb, tmp_path / "p", detector=detector_config("model", model=model))
    assert pipeline.link("A heart attack, then fever.").links


def test_stores_calibrations_for_texts_and_terms(tiny_kb: Path, tmp_path: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "p")
    texts = fit_calibration()
    terms = texts.model_copy(update={"mentions": "terms"})
    store_calibration(tmp_path / "p", terms)
    store_calibration(tmp_path / "p", texts)
    pipeline = load(tmp_path / "p")
    assert (pipeline.calibration, pipeline.term_calibration) == (texts, terms)
    assert "terms calibrated on" in dict(describe(read_pipeline(tmp_path / "p")))
