"""Tests of installing recipes from a local server: complete, interrupted, shared and rejected installations."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from onym.errors import ConfigError, DownloadError, IntegrityError, OnymError
from onym.packs import install as module
from onym.packs.install import install, is_installed
from onym.packs.locate import find_install_folder, installed_root, load, read_pipeline
from onym.packs.recipe import RECORD, FileSources
from onym.store.download import Patience
from onym.store.stage import exclusive
from tests.packs.small import OBO, PATH, TERMS, TRAINED, small_recipe, small_server
from tests.packs.test_recipe_record import RERANK
from tests.robustness.cli.catalogue import FileServer, Stop

ONCE = Patience(attempts=1, pause_s=0, timeout_s=10)


class Killed(BaseException):
    """Simulates a killed process: a BaseException that no code catches."""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _requests(server: FileServer) -> list[tuple[int, int]]:
    return [(sent.start, sent.count) for sent in server.answers]


def test_a_pipeline_is_installed_and_found_by_its_name(tmp_path: Path) -> None:
    recipe = small_recipe()
    with small_server(tmp_path).running() as server:
        done = install(recipe, FileSources(server.url))
    assert done.is_new
    assert done.folder == find_install_folder("fevers")
    assert [link.concept_id for link in load("fevers").link("Pyrexia and cough").links] == ["hp:0001945", "hp:0012735"]
    assert read_pipeline("fevers").kb.path == "knowledge-base"
    assert is_installed(recipe)
    again = install(recipe)  # the second installation needs no network access
    assert not again.is_new
    assert again.files == done.files
    assert _requests(server) == [(0, len(OBO))]


def test_installed_pipeline_can_be_moved(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        folder = install(small_recipe(), FileSources(server.url)).folder
    folder.rename(tmp_path / "elsewhere")
    assert load(tmp_path / "elsewhere").link("fever").links[0].concept_id == "hp:0001945"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of an uninterrupted installation."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "fevers.obo").write_text(OBO)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ONYM_CACHE", str(folder / "cache"))
        return _files(install(small_recipe(), FileSources(folder=folder)).folder)


@pytest.mark.parametrize(
    ("step", "is_after"),
    [
        ("build_kb", False),
        ("build_kb", True),
        ("build_pipeline", True),
        ("write_record", True),
        ("move_folder", False),
        ("move_folder", True),
        ("switch_version", True),
    ],
)
def test_resumes_after_interruption(step: str, is_after: bool, whole: dict[str, bytes], tmp_path: Path) -> None:
    """If an installation is killed before or after any step, it resumes with the same bytes and downloads nothing twice."""
    recipe, real = small_recipe(), getattr(module, step)

    def kill(*words: object, **options: object) -> None:
        if is_after:
            real(*words, **options)
        raise Killed

    with small_server(tmp_path).running() as server:
        with patch.object(module, step, kill), pytest.raises(Killed):
            install(recipe, FileSources(server.url))
        assert is_installed(recipe) == (step == "switch_version")
        install(recipe, FileSources(server.url))
    assert sorted(path.name for path in installed_root("fevers").parent.iterdir()) == [".fevers.lock", "fevers"]
    assert len(list(installed_root("fevers").iterdir())) == 2, "CURRENT and one version"
    assert _requests(server) == [(0, len(OBO))]
    found = _files(find_install_folder("fevers"))
    assert [name for name in whole if name != RECORD and found[name] != whole[name]] == []
    assert found.keys() == whole.keys()


def test_does_not_repeat_finished_steps(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        with patch.object(module, "build_pipeline", side_effect=Killed), pytest.raises(Killed):
            install(small_recipe(), FileSources(server.url))
        with patch.object(module, "build_kb", side_effect=Killed):
            assert install(small_recipe(), FileSources(server.url)).is_new


def test_resumes_a_broken_download(tmp_path: Path) -> None:
    server = small_server(tmp_path)
    server.stops[PATH] = [Stop(50, breaks=True)]
    with server.running():
        with pytest.raises(DownloadError, match="download-interrupted"):
            install(small_recipe(), FileSources(server.url), patience=ONCE)
        install(small_recipe(), FileSources(server.url), patience=ONCE)
    assert _requests(server) == [(0, 50), (50, len(OBO) - 50)]


def test_recipes_share_downloads_and_knowledge_bases(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        install(small_recipe(), FileSources(server.url))
        with patch.object(module, "build_kb", side_effect=Killed):
            install(small_recipe(name="others", title="The same fevers"), FileSources(server.url))
    assert len(server.answers) == 1
    assert load("others").link("fever").links[0].concept_id == "hp:0001945"


def test_force_rebuilds_from_the_same_downloads(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        install(small_recipe(), FileSources(server.url))
        assert install(small_recipe(), FileSources(server.url), force=True).is_new
    assert len(server.answers) == 1


def test_another_recipe_of_that_name_replaces_it(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        install(small_recipe(), FileSources(server.url))
        parts = {"detector": None, "linker": {"kind": "exact"}}
        assert install(small_recipe(pipeline=parts), FileSources(server.url)).is_new
    assert read_pipeline("fevers").detector is None
    assert len(server.answers) == 1


def test_rebuilds_after_a_licensed_release_changed(tmp_path: Path) -> None:
    path = tmp_path / "own.obo"
    path.write_text(OBO)
    recipe = small_recipe(
        releases=[{"name": "fevers", **TERMS, "how": "Ask."}], kb={"sources": [{"path": "fevers", "name": "HPO"}]}
    )
    with pytest.raises(ConfigError, match="release-licensed"):
        install(recipe)
    assert install(recipe, FileSources(file=path)).is_new
    assert not install(recipe, FileSources(file=path)).is_new
    assert not install(recipe).is_new
    path.write_text(OBO.replace("Cough", "Chill"))
    assert install(recipe, FileSources(file=path)).is_new
    assert len(load("fevers").link("chill").links) == 1


def test_installs_trained_components_with_calibration(tmp_path: Path) -> None:
    with small_server(tmp_path).running() as server:
        install(small_recipe(trained=TRAINED, pipeline=RERANK), FileSources(server.url))
    config = read_pipeline("fevers")
    assert config.calibration is not None
    assert config.term_calibration is not None
    assert config.linker.model.path == "reranker"  # type: ignore[attr-defined]
    (link,) = load("fevers").link("The patient had fever.").links
    assert link.confidence is not None


@pytest.mark.parametrize(
    ("there", "is_enough"),
    [
        ((), False),
        (("torch", "transformers"), False),
        (("onnxruntime", "onnx", "faiss"), True),
        (("torch", "transformers", "faiss"), True),
    ],
)
def test_dense_pipelines_need_torch_or_onnx_runtime(there: tuple[str, ...], is_enough: bool) -> None:
    """Missing packages are reported before anything is downloaded."""
    code = "download-interrupted" if is_enough else "extra-missing"
    with patch.object(module, "find_spec", lambda name: name if name in there else None), pytest.raises(OnymError) as caught:
        install(small_recipe(extra="models"), FileSources("http://127.0.0.1:9"), patience=ONCE)
    assert caught.value.code == code
    assert is_enough or "onym[onnx]" in caught.value.fix


def test_unreachable_server_error_suggests_alternatives(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="download-interrupted.*cannot be reached") as caught:
        install(small_recipe(), FileSources("http://127.0.0.1:9"), patience=ONCE)
    assert "copy fevers.obo to a folder and use onym get fevers --from FOLDER" in caught.value.fix
    assert "--mirror ADDRESS" in caught.value.fix


def test_concurrent_installations_are_locked_out(tmp_path: Path) -> None:
    lock = installed_root("fevers").with_name(".fevers.lock")
    lock.parent.mkdir(parents=True)
    with exclusive(lock), pytest.raises(IntegrityError, match="artefact-locked"):
        install(small_recipe(), FileSources("http://127.0.0.1:1"))


def test_installs_a_model_with_only_a_vocabulary_file(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    from onym.models.tokens import Tokenizer
    from tests.support.models import save_encoder

    served = tmp_path / "served" / "owner" / "tiny" / "resolve" / ("0" * 40)
    save_encoder(served)
    (served / "tokenizer.json").unlink()
    tokens = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "fever", "pyrexia", "cough"]
    (served / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    (served / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    names = ("config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json")
    model = {**TERMS, "folder": "encoder", "hub": "owner/tiny", "revision": "0" * 40}
    recipe = small_recipe(
        extra="models",
        models=[{**model, "files": [{"name": name, "megabytes": 1} for name in names]}],
        pipeline={"detector": {"kind": "dictionary"}, "linker": {"kind": "dense", "model": "encoder"}},
    )
    with small_server(tmp_path).running() as server:
        folder = install(recipe, FileSources(server.url)).folder
    assert Tokenizer.open(folder / "encoder").ids("Fever") == [5]
    assert load("fevers").link("Some pyrexia.").links[0].concept_id == "hp:0001945"
